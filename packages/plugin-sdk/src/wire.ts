/**
 * The pipe between the gateway and a plugin's process: the binary frames of the protocol package on descriptor 3. The
 * pipe is the identity: nothing that a plugin sends names itself. Windows as on the tool socket: the plugin's `window`
 * allows more stdin of a call, the gateway's allows more of its output, both streams counted together.
 */
import {
  arr,
  int,
  nullable,
  obj,
  oneOf,
  opt,
  type Static,
  str,
  unknown,
  unsafe,
} from '@earendil-works/pi-schema'

export const PLUGIN_FRAME = {
  init: 0x01, // gateway → plugin
  ready: 0x02, // plugin → gateway, after `register`
  start: 0x03,
  started: 0x04,
  stop: 0x05,
  stopped: 0x06,
  call: 0x10, // gateway → plugin
  stdin: 0x12, // gateway → plugin; empty = end
  stdout: 0x13,
  stderr: 0x14,
  window: 0x15,
  cancel: 0x16, // gateway → plugin
  result: 0x17, // plugin → gateway, last of a call
  ping: 0x18,
  pong: 0x19,
  log: 0x1a,
  fatal: 0x1f, // plugin → gateway: it can not go on
} as const

export const PIPE_DESCRIPTOR = 3
const MAX_CALL_BYTES = 2_097_152 // an argv of 1 MiB as base64, and its head
const MAX_PLAIN_BYTES = 65_536

export function maxPluginFrameBytes(type: number): number {
  return type === PLUGIN_FRAME.call || type === PLUGIN_FRAME.init ? MAX_CALL_BYTES : MAX_PLAIN_BYTES
}

const record = unsafe<Record<string, unknown>>({ type: 'object' })
export const pluginInit = obj({
  /** File URL of the entry module. */
  entry: str(),
  dataDir: str(),
  agentNames: arr(str()),
  config: record,
})
export const pluginReady = obj({ tools: arr(obj({ name: str(), description: str() })) })
export const pluginCall = obj({
  tool: str(),
  argv: arr(str()), // base64
  cwd: nullable(str()),
  agent: str(),
  session: nullable(str()),
  config: record,
})
export const pluginResult = obj({ exitCode: int({ minimum: 0, maximum: 255 }), data: opt(unknown()) })
export const pluginLog = obj({ level: oneOf(['info', 'error']), text: str() })
export const pluginFatal = obj({ message: str() })
export type PluginInit = Static<typeof pluginInit>
export type PluginReady = Static<typeof pluginReady>
export type PluginCallMessage = Static<typeof pluginCall>
export type PluginResult = Static<typeof pluginResult>
