/** v2 of the tool socket: many calls on one connection, both streams, windows both ways, cancel. */
import type { Socket } from 'node:net'
import {
  type BeigeError,
  type BinaryFrame,
  createFrameDecoder,
  createReceiveQueue,
  createSendWindow,
  decodeJson,
  decodeU32,
  encodeFrame,
  encodeJson,
  encodeU32,
  FIRST_WINDOW_BYTES,
  isError,
  MAX_REQUEST_BYTES,
  maxToolFrameBytes,
  messageOf,
  type ReceiveQueue,
  type SendWindow,
  TOOL_FRAME,
  TOOL_SOCKET_VERSION,
  type ToolExit,
  type ToolRequest,
  type ToolSocketErrorCode,
  type ToolWelcome,
  toolHello,
  toolRequest,
  toolSocketErrorCode,
} from '@beige/protocol'
import { compile } from '@earendil-works/pi-schema'
import { fail } from '../errors.ts'
import type { FoundCall } from './call-tokens.ts'
import { type ConnectionParts, idleClock, MAX_REQUESTS } from './serving.ts'

const MAX_UNREAD_BYTES = 4_194_304 // of answers that a client does not take
const MAX_DATA_BYTES = 49_152

const checkHello = compile(toolHello)
const checkRequest = compile(toolRequest)
const checkCode = compile(toolSocketErrorCode)

type Running = { stdin: ReceiveQueue<Uint8Array>; output: SendWindow; cancel: AbortController }

export function serveV2(socket: Socket, first: Uint8Array, parts: ConnectionParts): void {
  const calls = new Map<number, Running>()
  const idle = idleClock(parts.idleMs, () => refuse('timeout', 'no call for too long'))
  const late = setTimeout(() => refuse('timeout', 'no hello'), parts.helloMs)
  let identity: { from: FoundCall | null } | null = null
  let isOver = false

  const send = (type: number, id: number, payload?: Uint8Array): Promise<void> => {
    if (isOver) return Promise.resolve()
    if (socket.writableLength > MAX_UNREAD_BYTES) {
      socket.destroy()
      return Promise.resolve()
    }
    return new Promise(resolve => socket.write(encodeFrame(type, id, payload), () => resolve()))
  }
  function refuse(code: ToolSocketErrorCode, message: string): void {
    if (isOver) return
    void send(TOOL_FRAME.error, 0, encodeJson({ code, message }))
    isOver = true
    socket.end()
    socket.destroySoon()
  }

  function hello(payload: Uint8Array): void {
    if (identity !== null) throw broken('bad_request', 'a second hello')
    const message = decodeJson(payload)
    if (!checkHello.check(message)) throw broken('bad_request', 'a bad hello')
    const from = message.token === undefined ? null : parts.identify(message.token)
    if (message.token !== undefined && from === null)
      throw broken('identity_mismatch', 'this token belongs to no running call of this agent')
    identity = { from }
    clearTimeout(late)
    const welcome: ToolWelcome = {
      version: TOOL_SOCKET_VERSION,
      agent: parts.agent,
      session: from?.session ?? `socket:${parts.agent}`,
      limits: {
        window_bytes: FIRST_WINDOW_BYTES,
        max_requests: MAX_REQUESTS,
        max_request_bytes: MAX_REQUEST_BYTES,
      },
    }
    void send(TOOL_FRAME.welcome, 0, encodeJson(welcome))
  }

  async function run(id: number, request: ToolRequest, from: FoundCall | null): Promise<void> {
    const running: Running = {
      stdin: createReceiveQueue(
        FIRST_WINDOW_BYTES,
        bytes => void send(TOOL_FRAME.window, id, encodeU32(bytes)),
      ),
      output: createSendWindow(FIRST_WINDOW_BYTES),
      cancel: new AbortController(),
    }
    if (request.stdin !== true) running.stdin.end()
    calls.set(id, running)
    idle.busy()
    const stream = (type: number) => (bytes: Uint8Array) =>
      running.output.send(bytes, piece => send(type, id, piece))
    try {
      const exit = await parts.run({
        request,
        from,
        streams: {
          stdin: running.stdin,
          stdout: stream(TOOL_FRAME.stdout),
          stderr: stream(TOOL_FRAME.stderr),
        },
        signal: running.cancel.signal,
        onStarted: callId => void send(TOOL_FRAME.started, id, encodeJson({ call_id: callId })),
      })
      await send(TOOL_FRAME.exit, id, encodeExit(exit))
    } finally {
      calls.delete(id)
      running.stdin.close('the call has ended')
      idle.free()
    }
  }

  function request(id: number, payload: Uint8Array): void {
    if (identity === null) throw broken('bad_request', 'no hello')
    if (id === 0 || calls.has(id)) throw broken('bad_request', `request id ${id} is taken`)
    const message = decodeJson(payload)
    if (!checkRequest.check(message)) throw broken('bad_request', 'a bad request')
    if (calls.size < MAX_REQUESTS) parts.track(run(id, message, identity.from))
    else void send(TOOL_FRAME.exit, id, encodeJson(TOO_MANY))
  }

  /** Throws on what breaks a rule; the connection then ends. */
  function take({ type, id, payload }: BinaryFrame): void {
    const running = calls.get(id)
    switch (type) {
      case TOOL_FRAME.hello:
        hello(payload)
        break
      case TOOL_FRAME.request:
        request(id, payload)
        break
      case TOOL_FRAME.stdin:
        // For a call that has ended it is late, not wrong.
        if (payload.length === 0) running?.stdin.end()
        else running?.stdin.push(payload)
        break
      case TOOL_FRAME.window: {
        const bytes = decodeU32(payload)
        if (bytes === undefined) throw broken('bad_frame', 'a window is a u32')
        running?.output.allow(bytes)
        break
      }
      case TOOL_FRAME.cancel:
        running?.cancel.abort(broken('bad_request', 'the caller cancelled'))
        break
      case TOOL_FRAME.ping:
        void send(TOOL_FRAME.pong, id)
        break
      case TOOL_FRAME.pong:
        break
      default:
        throw broken('bad_frame', `an unknown frame ${type}`)
    }
  }

  const decoder = createFrameDecoder(maxToolFrameBytes)
  const push = (chunk: Uint8Array) => {
    if (isOver) return
    try {
      for (const frame of decoder.push(chunk)) if (!isOver) take(frame)
    } catch (error) {
      refuse(isError(error, 'socket_protocol') ? codeOf(error.data.code) : 'bad_frame', messageOf(error))
    }
  }
  socket.on('data', push)
  socket.on('close', () => {
    isOver = true
    idle.stop()
    clearTimeout(late)
    for (const running of calls.values()) {
      running.cancel.abort(broken('going_away', 'the connection was closed'))
      running.output.close('the connection was closed')
      running.stdin.close('the connection was closed')
    }
  })
  push(first)
}

const TOO_MANY: ToolExit = {
  exit_code: 1,
  signal: null,
  timed_out: false,
  truncated: false,
  error: { code: 'limit', message: `${MAX_REQUESTS} calls already run on this connection` },
}

function broken(code: ToolSocketErrorCode, reason: string): BeigeError {
  return fail('socket_protocol', { code, reason })
}

function codeOf(code: unknown): ToolSocketErrorCode {
  return checkCode.check(code) ? code : 'bad_frame'
}

function encodeExit(exit: ToolExit): Uint8Array {
  const whole = encodeJson(exit)
  if (whole.length <= MAX_DATA_BYTES + 1024) return whole
  const { data: _, error, ...rest } = exit
  return encodeJson({
    ...rest,
    truncated: true,
    ...(error === undefined ? {} : { error: { code: error.code, message: error.message.slice(0, 4096) } }),
  })
}
