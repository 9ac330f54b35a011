/**
 * The tool socket (design page "Gateway", Tool socket): how a program in a sandbox calls a tool that lives outside.
 *
 * A connection that starts with `{` speaks v1, one JSON line each way. One that starts with `BGS2\n` speaks v2: both
 * sides send the binary frames of `frames.ts` from then on (the preamble is sent by the client alone).
 *
 * v2 in order: client `hello` (id 0) → gateway `welcome` (id 0) → client `request` (its own id ≥ 1, unused so far) →
 * gateway `started` (after policy and approval; absent when refused) → `stdin`/`stdout`/`stderr`/`window`/`cancel` →
 * gateway `exit`, last, once. `error` (id 0) says why the gateway is about to close.
 *
 * Windows are per request and direction: the gateway's `window` lets the client send that many more bytes of stdin, the
 * client's `window` lets the gateway send that many more bytes of output, stdout and stderr counted together. Each
 * starts at `FIRST_WINDOW_BYTES`.
 */
import {
  arr,
  bool,
  int,
  lit,
  nullable,
  obj,
  oneOf,
  opt,
  type Static,
  str,
  unknown,
} from '@earendil-works/pi-schema'
import { MAX_FRAME_BYTES } from './frames.ts'

export const TOOL_PREAMBLE = 'BGS2\n'
export const TOOL_SOCKET_VERSION = 2
export const FIRST_WINDOW_BYTES = 262_144
export const MAX_REQUEST_BYTES = 1_048_576
export const MAX_ARGS = 4096
export const MAX_V1_LINE_BYTES = 1_048_576
export const MAX_V1_ANSWER_BYTES = 16_777_216

export const TOOL_FRAME = {
  hello: 0x01,
  welcome: 0x02,
  request: 0x10,
  started: 0x11,
  stdin: 0x12,
  stdout: 0x13,
  stderr: 0x14,
  window: 0x15,
  cancel: 0x16,
  exit: 0x17,
  ping: 0x18,
  pong: 0x19,
  error: 0x1f,
} as const

/** For `createFrameDecoder`: only a `request` may be longer than a plain frame. */
export function maxToolFrameBytes(type: number): number {
  return type === TOOL_FRAME.request ? MAX_REQUEST_BYTES : MAX_FRAME_BYTES
}

const open = { open: true }
export const toolHello = obj({ token: opt(str({ maxLength: 512 })), client: opt(str()) }, open)
export const toolWelcome = obj(
  {
    version: lit(2),
    agent: str(),
    /** `socket:<agent>` where no token named one. */
    session: str(),
    limits: obj({ window_bytes: int(), max_requests: int(), max_request_bytes: int() }, open),
  },
  open,
)
/** `args_b64` stands for all of argv where one of them is not UTF-8; `cwd` is a path of the sandbox. */
export const toolRequest = obj(
  {
    tool: str({ minLength: 1, maxLength: 128 }),
    args: opt(arr(str(), { maxItems: MAX_ARGS })),
    args_b64: opt(arr(str(), { maxItems: MAX_ARGS })),
    cwd: opt(str({ maxLength: 4096 })),
    stdin: opt(bool()),
  },
  open,
)
export const toolStarted = obj({ call_id: str() }, open)
export const toolExit = obj(
  {
    exit_code: nullable(int()),
    signal: nullable(str()),
    timed_out: bool(),
    truncated: bool(),
    data: opt(unknown()),
    error: opt(obj({ code: str(), message: str() }, open)),
  },
  open,
)
export const toolSocketErrorCode = oneOf([
  'bad_frame',
  'bad_request',
  'identity_mismatch',
  'limit',
  'timeout',
  'going_away',
])
export const toolSocketError = obj({ code: toolSocketErrorCode, message: str() }, open)
export type ToolHello = Static<typeof toolHello>
export type ToolWelcome = Static<typeof toolWelcome>
export type ToolRequest = Static<typeof toolRequest>
export type ToolExit = Static<typeof toolExit>
export type ToolSocketErrorCode = Static<typeof toolSocketErrorCode>

/** v1: unknown fields are ignored, so what a payload says about identity has no effect. */
export const toolRequestV1 = obj(
  {
    type: opt(lit('tool_request')),
    tool: str({ minLength: 1, maxLength: 128 }),
    args: opt(arr(str(), { maxItems: MAX_ARGS })),
  },
  open,
)
export type ToolResponseV1 = {
  type: 'tool_response'
  success: boolean
  output?: string
  error?: string
  exitCode: number
}

/** What the tool client itself exits with where no exit code of the tool exists. */
export const CLIENT_EXIT = {
  denied: 1,
  timedOut: 124,
  noGateway: 125,
  unknownTool: 127,
  cancelled: 130,
} as const
