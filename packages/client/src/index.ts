export { clientErrors } from './errors.ts'
export type { AttachAsk, Channel, ChannelEnd, ChannelListener, Dialer } from './session/channel.ts'
export type { Accepted, Run } from './session/run.ts'
export {
  type ConnectionState,
  type ConnectOptions,
  connectSession,
  type Fields,
  type SessionClient,
} from './session/session-client.ts'
export { type StdioOptions, stdioDialer } from './session/stdio.ts'
export { type WebSocketOptions, webSocketDialer } from './session/websocket.ts'
export { textTable } from './text-table.ts'
export * from './transcript/amounts.ts'
export { createFlow, type Flow, type FlowParts, flowed } from './transcript/flow.ts'
export { factsOf, lineOf, subjectOf } from './transcript/tool-line.ts'
export {
  createTranscript,
  type Terminal,
  type Transcript,
  type TranscriptOptions,
} from './transcript/transcript.ts'
export { columns, oneLine, padded, visible } from './transcript/visible.ts'
