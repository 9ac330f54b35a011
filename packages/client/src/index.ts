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
