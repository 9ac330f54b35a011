/**
 * A scripted model behind HTTP, on the real wire of five vendors. Every request is recorded and refereed: one that the
 * vendor would refuse gets the vendor's 400 and is listed in `refusals`.
 *
 * @example
 * await using server = await startModelServer({ script: [{ text: 'hello' }] })
 * // point a provider's base URL at server.url (Anthropic) or server.url + '/v1' (OpenAI)
 */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import { zstdDecompressSync } from 'node:zlib'
import { type Fault, prepareTurn, type Script, type Turn, turnFor, type WireName } from './model-script.ts'
import { createRequestLog, type RecordedRequest, type RequestEnd, type RequestLog } from './request-log.ts'
import { type Refusal, refuse, sseText, type Wire } from './wire.ts'
import { anthropicWire } from './wire-anthropic.ts'
import { bedrockWire } from './wire-bedrock.ts'
import { geminiWire } from './wire-gemini.ts'
import { openAiChatWire } from './wire-openai-chat.ts'
import { openAiResponsesWire } from './wire-openai-responses.ts'

const WIRES: readonly Wire[] = [anthropicWire, openAiChatWire, openAiResponsesWire, geminiWire, bedrockWire]
const MAX_BODY_BYTES = 64 * 1024 * 1024

export type ModelServerOptions = {
  script: Script
  /** 0 (default) takes a free port. */
  port?: number
  host?: string
  /** When set, a request with another key gets the vendor's 401. */
  apiKey?: string
  /** How many of the latest requests are kept for assertions; default 1000. */
  keepRequests?: number
}

export type ModelServer = AsyncDisposable & {
  /**
   * `http://127.0.0.1:<port>`: the base URL for Anthropic and Bedrock; the two OpenAI wires are below `/v1`, Gemini's
   * below `/v1beta`, that of a ChatGPT plan below `/backend-api`.
   */
  url: string
  port: number
  requests: readonly RecordedRequest[]
  /** What the referees found wrong, in order of arrival. */
  refusals: readonly string[]
  /** Resolves with the n-th request (from 1) of this server, which may have come already. */
  request(n: number, deadlineMs?: number): Promise<RecordedRequest>
  close(): Promise<void>
}

export async function startModelServer(options: ModelServerOptions): Promise<ModelServer> {
  const log = createRequestLog(options.keepRequests ?? 1000)
  const closing = new AbortController()
  let scripted = 0
  const server = createServer((request, response) => {
    const take = () => scripted++
    serve({ request, response, log, options, closing: closing.signal, take }).catch(error => {
      // The script of a test threw: say so to the client, whose test then fails with this text.
      if (!response.headersSent) response.writeHead(500, { 'content-type': 'text/plain' })
      response.end(`scripted model server: ${error instanceof Error ? error.stack : String(error)}`)
    })
  })
  server.listen(options.port ?? 0, options.host ?? '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const close = async (): Promise<void> => {
    closing.abort()
    if (!server.listening) return
    const closed = once(server, 'close')
    server.close()
    server.closeAllConnections()
    await closed
  }
  return {
    url: `http://${options.host ?? '127.0.0.1'}:${port}`,
    port,
    requests: log.requests,
    refusals: log.refusals,
    request: log.request,
    close,
    [Symbol.asyncDispose]: close,
  }
}

/** The base URL that a provider on this wire has to be given. */
export function wireUrl({ url }: Pick<ModelServer, 'url'>, wire: WireName): string {
  switch (wire) {
    case 'anthropic':
    case 'bedrock':
      return url
    case 'openai-chat':
    case 'openai-responses':
      return `${url}/v1`
    case 'gemini':
      return `${url}/v1beta`
    default:
      return wire satisfies never
  }
}

type Exchange = {
  request: IncomingMessage
  response: ServerResponse
  log: RequestLog
  options: ModelServerOptions
  closing: AbortSignal
  /** The next place in the script. */
  take(): number
}

async function serve(exchange: Exchange): Promise<void> {
  const { request, response, log, options } = exchange
  const raw = await readBody(request)
  const headers = plainHeaders(request)
  const path = new URL(request.url ?? '/', 'http://server').pathname
  const wire = WIRES.find(candidate => candidate.serves(path)) ?? null
  const body = raw === null ? undefined : parseJson(raw)
  const recorded = log.add({ wire: wire?.name ?? null, method: request.method ?? '', path, headers, body })
  const gone = new AbortController()
  response.on('close', () => {
    recorded.settle(
      response.writableFinished ? 'answered' : exchange.closing.aborted ? 'server_closed' : 'client_closed',
    )
    gone.abort()
  })
  if (wire === null || request.method !== 'POST')
    return answer(response, 404, {}, `no such endpoint: ${path}`)
  const refusal =
    raw === null
      ? refuse('Request exceeds the maximum size', 'request_too_large', 413)
      : (wrongKey(wire, headers, options.apiKey) ?? wire.validate(body, headers) ?? onlyStreams(wire, body))
  if (refusal !== null) {
    log.refuse(`${wire.name} request ${recorded.index}: ${refusal.message}`)
    return answer(response, refusal.status, {}, wire.errorBody(refusal))
  }
  const seen = { ...wire.see(body, path), index: exchange.take(), wire: wire.name, headers, body }
  const turn = await turnFor(options.script, seen)
  const signal = AbortSignal.any([gone.signal, exchange.closing])
  if (turn.fault?.kind === 'status') return answerFault(wire, response, turn.fault)
  const events = wire.events(prepareTurn(turn, seen), seen.model, body)
  await stream(wire, response, events, turn, signal, recorded.settle)
}

async function stream(
  wire: Wire,
  response: ServerResponse,
  events: Iterable<{ event: string | null; data: string }>,
  turn: Turn,
  signal: AbortSignal,
  settle: (end: RequestEnd) => void,
): Promise<void> {
  const fault = turn.fault
  const { contentType, frame } = wire.framed ?? SSE
  response.writeHead(200, { 'content-type': contentType, 'cache-control': 'no-cache' })
  response.flushHeaders()
  let sent = 0
  for (const event of events) {
    if (fault !== undefined && fault.kind !== 'status' && sent >= fault.afterEvents) {
      await fault.when
      return breakOff(wire, response, fault, settle)
    }
    if (turn.delayMs !== undefined) await wait(turn.delayMs, undefined, { signal }).catch(() => undefined)
    if (signal.aborted) return
    await write(response, frame(event), signal)
    sent++
  }
  response.end()
}

function breakOff(
  wire: Wire,
  response: ServerResponse,
  fault: Exclude<Fault, { kind: 'status' }>,
  settle: (end: RequestEnd) => void,
): void {
  switch (fault.kind) {
    case 'cut':
      settle('server_closed')
      response.destroy()
      return
    case 'end':
      response.end()
      return
    case 'silence':
      return
    case 'error_event':
      response.end((wire.framed ?? SSE).frame(wire.errorEvent(fault.type, fault.message)))
      return
    default:
      fault satisfies never
  }
}

function answerFault(wire: Wire, response: ServerResponse, fault: Extract<Fault, { kind: 'status' }>): void {
  const { status, type = 'api_error', message = `scripted ${status}` } = fault
  answer(response, status, fault.headers ?? {}, fault.body ?? wire.errorBody({ status, type, message }))
}

function answer(
  response: ServerResponse,
  status: number,
  headers: Readonly<Record<string, string>>,
  body: string,
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(body)
}

function wrongKey(wire: Wire, headers: Readonly<Record<string, string>>, expected?: string): Refusal | null {
  if (expected === undefined || wire.keyOf(headers) === expected) return null
  return wire.name === 'anthropic'
    ? refuse('invalid x-api-key', 'authentication_error', 401)
    : refuse(`Incorrect API key provided: ${wire.keyOf(headers)}.`, 'invalid_api_key', 401)
}

function onlyStreams(wire: Wire, body: unknown): Refusal | null {
  if (wire.streams) return null
  const streams = typeof body === 'object' && body !== null && 'stream' in body && body.stream === true
  return streams ? null : refuse('stream: this server only answers requests with `stream: true`')
}

async function write(response: ServerResponse, data: Uint8Array, signal: AbortSignal): Promise<void> {
  if (response.write(data)) return
  await once(response, 'drain', { signal }).catch(() => undefined)
}

const SSE: NonNullable<Wire['framed']> = {
  contentType: 'text/event-stream; charset=utf-8',
  frame: event => Buffer.from(sseText(event)),
}

async function readBody(request: IncomingMessage): Promise<string | null> {
  const parts: Buffer[] = []
  let bytes = 0
  for await (const part of request) {
    bytes += part.length
    if (bytes <= MAX_BODY_BYTES) parts.push(part)
  }
  if (bytes > MAX_BODY_BYTES) return null
  const whole = Buffer.concat(parts)
  const isPacked = request.headers['content-encoding'] === 'zstd'
  return (isPacked ? zstdDecompressSync(whole) : whole).toString('utf8')
}

function parseJson(raw: string): unknown {
  try {
    return JSON.parse(raw)
  } catch {
    return undefined
  }
}

function plainHeaders(request: IncomingMessage): Record<string, string> {
  return Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(', ') : (value ?? ''),
    ]),
  )
}
