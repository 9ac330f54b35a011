/** v1 of the tool socket: one JSON line each way, in order, for plain clients; calls belong to `socket:<agent>`. */
import type { Socket } from 'node:net'
import { MAX_V1_ANSWER_BYTES, MAX_V1_LINE_BYTES, type ToolResponseV1, toolRequestV1 } from '@beige/protocol'
import { compile } from '@earendil-works/pi-schema'
import { type ConnectionParts, idleClock } from './serving.ts'

const checkRequest = compile(toolRequestV1)

export function serveV1(socket: Socket, first: Uint8Array, parts: ConnectionParts): void {
  const closed = new AbortController()
  const idle = idleClock(parts.idleMs, () => socket.destroy())
  let held: Buffer = Buffer.alloc(0)
  let isWorking = false

  async function work(): Promise<void> {
    if (isWorking) return
    isWorking = true
    idle.busy()
    // Nothing more is read while a call runs: what is held stays at a line.
    socket.pause()
    try {
      for (let end = held.indexOf(10); end >= 0 && !closed.signal.aborted; end = held.indexOf(10)) {
        const line = held.subarray(0, end)
        held = held.subarray(end + 1)
        await answer(await respond(line))
      }
    } finally {
      isWorking = false
      idle.free()
      socket.resume()
    }
    if (held.length > MAX_V1_LINE_BYTES) {
      await answer(refusal(`a request line has at most ${MAX_V1_LINE_BYTES} bytes`))
      socket.destroy()
    }
  }

  async function respond(line: Uint8Array): Promise<ToolResponseV1> {
    if (line.length > MAX_V1_LINE_BYTES)
      return refusal(`a request line has at most ${MAX_V1_LINE_BYTES} bytes`)
    const request = parse(line)
    if (!checkRequest.check(request))
      return refusal('not a tool request: {"type":"tool_request","tool":"…","args":[…]}')
    const tooMuch = new AbortController()
    const out: Uint8Array[] = []
    const err: Uint8Array[] = []
    let bytes = 0
    const collect = (into: Uint8Array[]) => async (part: Uint8Array) => {
      bytes += part.length
      if (bytes > MAX_V1_ANSWER_BYTES / 2)
        tooMuch.abort(new DOMException('the answer is too large', 'AbortError'))
      else into.push(part)
    }
    const exit = await parts.run({
      request: { tool: request.tool, args: request.args ?? [] },
      from: null,
      streams: { stdin: nothing(), stdout: collect(out), stderr: collect(err) },
      signal: AbortSignal.any([closed.signal, tooMuch.signal]),
      onStarted: () => undefined,
    })
    if (tooMuch.signal.aborted)
      return refusal(`the tool was stopped: its output has more than ${MAX_V1_ANSWER_BYTES / 2} bytes`)
    const exitCode = exit.exit_code ?? 1
    const output = Buffer.concat(out).toString('utf8')
    const error = exit.error?.message ?? Buffer.concat(err).toString('utf8')
    const response: ToolResponseV1 = {
      type: 'tool_response',
      success: exitCode === 0 && exit.error === undefined,
      ...(output === '' && exit.error !== undefined ? {} : { output }),
      ...(error === '' ? {} : { error }),
      exitCode,
    }
    return Buffer.byteLength(JSON.stringify(response)) > MAX_V1_ANSWER_BYTES
      ? refusal(`the answer has more than ${MAX_V1_ANSWER_BYTES} bytes`)
      : response
  }

  function answer(response: ToolResponseV1): Promise<void> {
    if (closed.signal.aborted) return Promise.resolve()
    return new Promise(resolve => socket.write(`${JSON.stringify(response)}\n`, () => resolve()))
  }

  const take = (chunk: Uint8Array) => {
    held = Buffer.concat([held, chunk])
    if (held.includes(10) || held.length > MAX_V1_LINE_BYTES) parts.track(work())
  }
  socket.on('close', () => {
    closed.abort(new DOMException('the connection was closed', 'AbortError'))
    idle.stop()
  })
  socket.on('data', take)
  take(first)
}

function refusal(error: string): ToolResponseV1 {
  return { type: 'tool_response', success: false, error, exitCode: 1 }
}

function parse(line: Uint8Array): unknown {
  try {
    const value: unknown = JSON.parse(Buffer.from(line).toString('utf8'))
    return value
  } catch {
    return undefined
  }
}

async function* nothing(): AsyncIterable<Uint8Array> {}
