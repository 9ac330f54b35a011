/** HTTP/1.1 to one endpoint: pooled keep-alive connections, bounded answers, and one meaning for each way to fail. */
import { Agent, type ClientRequest, type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http'
import { Agent as TlsAgent, request as tlsRequest } from 'node:https'
import { isError, messageOf } from '@beige/protocol'
import { fail } from '../errors.ts'
import type { ExecEndpoint } from '../exec-client.ts'

export const MAX_CONNECTIONS = 512 // at once to one endpoint; more callers wait
export const CONNECT_MS = 10_000 // until a connection stands
export const SILENCE_MS = 60_000 // without a byte where the endpoint owes one (heartbeats come every 10 s)
const IDLE_CONNECTION_MS = 4_000 // a URL's idle connection is dropped before a proxy on the way forgets it
const CONTROL_CONNECTIONS = 8 // kept apart, so that a stop never waits behind what it stops

export type WireRequest = {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Below the endpoint's base, with its query: `/files?path=%2Fx`. Empty for the base itself. */
  path: string
  headers?: Readonly<Record<string, string>>
  body?: Uint8Array | string
  /** Silence after which the endpoint counts as lost; null where it may be silent for as long as a command runs. */
  silenceMs: number | null
  /** For requests that must pass while every other connection is busy. */
  control?: boolean
  /** When it fires we send no more but read on: the endpoint ends the command, and closes when nothing of it is left. */
  hangUp?: AbortSignal
}

export type WireAnswer = { status: number; headers: IncomingHttpHeaders; body: IncomingMessage }

export interface Transport {
  /** Where it connects, for messages; without credentials. */
  readonly name: string
  /** Resolves with the head of the answer. An abort destroys the connection. */
  begin(wire: WireRequest, signal: AbortSignal): Promise<WireAnswer>
  /** The whole answer, refused when it is longer than `maxBytes`. */
  send(wire: WireRequest, signal: AbortSignal, maxBytes: number): Promise<WholeAnswer>
  collect(answer: WireAnswer, maxBytes: number): Promise<WholeAnswer>
  /** The same connections, with these headers on each request. */
  withHeaders(headers: Readonly<Record<string, string>>): Transport
  close(): void
}
export type WholeAnswer = { status: number; headers: IncomingHttpHeaders; bytes: Buffer }

export function createTransport(endpoint: ExecEndpoint): Transport {
  const target = targetOf(endpoint)
  const pool = target.newAgent(MAX_CONNECTIONS)
  const controlPool = target.newAgent(CONTROL_CONNECTIONS)
  const ending = new AbortController()

  async function begin(wire: WireRequest, signal: AbortSignal): Promise<WireAnswer> {
    if (signal.aborted || ending.signal.aborted) throw aborted(wire)
    try {
      return await attempt(wire, signal)
    } catch (error) {
      // A pooled connection that the other side had just closed; only what may be done twice is sent again.
      const mayRepeat = wire.method === 'GET' || wire.method === 'DELETE'
      if (mayRepeat && isError(error, 'endpoint_lost') && error.data.stale) return await attempt(wire, signal)
      throw error
    }
  }

  function attempt(wire: WireRequest, signal: AbortSignal): Promise<WireAnswer> {
    return new Promise((resolve, reject) => {
      let connected = false
      const req = target.start({
        method: wire.method,
        path: target.basePath + wire.path || '/',
        headers: headersOf(wire, target.headers),
        agent: wire.control ? controlPool : pool,
      })
      const stop = () => req.destroy(aborted(wire))
      // Before it is connected there is nobody to hang up on.
      const hangUp = () => (connected ? req.socket?.end() : req.destroy())
      const release = () => {
        signal.removeEventListener('abort', stop)
        ending.signal.removeEventListener('abort', stop)
        wire.hangUp?.removeEventListener('abort', hangUp)
      }
      wire.hangUp?.addEventListener('abort', hangUp, { once: true })
      signal.addEventListener('abort', stop, { once: true })
      ending.signal.addEventListener('abort', stop, { once: true })
      req.once('close', release)
      watchConnect(req, () => {
        connected = true
        watchSilence(req, wire.silenceMs)
      })
      req.once('response', body => resolve({ status: body.statusCode ?? 0, headers: body.headers, body }))
      // `on`: after the head has come, an error of the socket reaches the body, and may come here as well.
      req.on('error', error => {
        if (signal.aborted || ending.signal.aborted) reject(aborted(wire))
        else if (!connected) {
          reject(fail('endpoint_unreachable', { endpoint: target.name, reason: reasonOf(error) }, error))
        } else reject(lost(error, req.reusedSocket && isReset(error)))
      })
      req.end(wire.body)
    })
  }

  async function send(wire: WireRequest, signal: AbortSignal, maxBytes: number): Promise<WholeAnswer> {
    try {
      return await collect(await begin(wire, signal), maxBytes)
    } catch (error) {
      throw signal.aborted || ending.signal.aborted ? aborted(wire) : error
    }
  }

  async function collect(answer: WireAnswer, maxBytes: number): Promise<WholeAnswer> {
    const { status, headers, body } = answer
    const chunks: Buffer[] = []
    let length = Number(headers['content-length'] ?? 0)
    try {
      if (length > maxBytes) throw tooLarge(maxBytes)
      length = 0
      for await (const chunk of body) {
        const bytes: Buffer = chunk
        length += bytes.length
        if (length > maxBytes) throw tooLarge(maxBytes)
        chunks.push(bytes)
      }
    } catch (error) {
      body.destroy()
      throw isError(error) ? error : lost(error, false)
    }
    const [only] = chunks
    return { status, headers, bytes: chunks.length === 1 && only ? only : Buffer.concat(chunks, length) }
  }

  function lost(error: unknown, stale: boolean) {
    const reason = reasonOf(error)
    return fail('endpoint_lost', { endpoint: target.name, reason, stale, commandStarted: 'unknown' }, error)
  }

  function close(): void {
    ending.abort()
    pool.destroy()
    controlPool.destroy()
  }

  function withHeaders(own: Readonly<Record<string, string>>): Transport {
    const more = (wire: WireRequest): WireRequest => ({ ...wire, headers: { ...own, ...wire.headers } })
    return {
      name: target.name,
      begin: (wire, signal) => begin(more(wire), signal),
      send: (wire, signal, maxBytes) => send(more(wire), signal, maxBytes),
      collect,
      withHeaders: next => withHeaders({ ...own, ...next }),
      close,
    }
  }

  return withHeaders({})
}

function tooLarge(maxBytes: number) {
  return fail('answer_too_large', { maxBytes, commandStarted: 'unknown' })
}

function aborted(wire: WireRequest) {
  return fail('aborted', { what: `${wire.method} ${wire.path.split('?')[0] || '/'}` })
}

type StartOptions = {
  method: string
  path: string
  headers: Record<string, string | number>
  agent: Agent
}
type Target = {
  name: string
  basePath: string
  headers: Readonly<Record<string, string>>
  newAgent(maxSockets: number): Agent
  start(options: StartOptions): ClientRequest
}

function targetOf(endpoint: ExecEndpoint): Target {
  if (endpoint.kind === 'unix') {
    const { socketPath } = endpoint
    return {
      name: `unix:${socketPath}`,
      basePath: endpoint.basePath.replace(/\/$/, ''),
      headers: { host: 'sandbox', ...endpoint.headers },
      newAgent: maxSockets => new Agent({ keepAlive: true, maxSockets }),
      start: options => request({ ...options, socketPath }),
    }
  }
  const url = URL.canParse(endpoint.url) ? new URL(endpoint.url) : null
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:') {
    throw fail('endpoint_wrong', { endpoint: endpoint.url, reason: 'neither an http nor an https URL' })
  }
  const tls = url.protocol === 'https:'
  const where = { hostname: url.hostname.replace(/^\[|\]$/g, ''), ...(url.port ? { port: url.port } : {}) }
  const pooling = { keepAlive: true, timeout: IDLE_CONNECTION_MS }
  return {
    name: `${url.protocol}//${url.host}${url.pathname}`,
    basePath: url.pathname.replace(/\/$/, ''),
    headers: endpoint.headers,
    newAgent: maxSockets =>
      tls ? new TlsAgent({ ...pooling, maxSockets }) : new Agent({ ...pooling, maxSockets }),
    start: options => (tls ? tlsRequest : request)({ ...options, ...where }),
  }
}

function headersOf(wire: WireRequest, base: Readonly<Record<string, string>>) {
  const headers: Record<string, string | number> = { ...base, ...wire.headers }
  if (wire.body !== undefined) headers['content-length'] = Buffer.byteLength(wire.body)
  return headers
}

function watchConnect(req: ClientRequest, onConnected: () => void): void {
  req.once('socket', socket => {
    if (!socket.connecting) return onConnected()
    const timer = setTimeout(
      () => req.destroy(new Error(`no connection within ${CONNECT_MS} ms`)),
      CONNECT_MS,
    )
    const done = () => clearTimeout(timer)
    const isTls = 'encrypted' in socket
    socket.once(isTls ? 'secureConnect' : 'connect', () => {
      done()
      onConnected()
    })
    socket.once('close', done)
  })
}

// Silence that we caused, by not reading, is none: the socket is paused while its reader is slow.
function watchSilence(req: ClientRequest, silenceMs: number | null): void {
  req.setTimeout(silenceMs ?? 0)
  if (silenceMs === null) return
  let body: IncomingMessage | undefined
  req.once('response', response => {
    body = response
  })
  req.on('timeout', () => {
    if (body && body.readableLength > 0) return void body.socket.setTimeout(silenceMs)
    const silent = new Error(`silent for ${silenceMs} ms`)
    if (body) body.destroy(silent)
    else req.destroy(silent)
  })
}

const RESET_CODES = ['ECONNRESET', 'EPIPE', 'ERR_STREAM_PREMATURE_CLOSE', 'ECONNABORTED']

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}

function isReset(error: unknown): boolean {
  return RESET_CODES.includes(codeOf(error) ?? '')
}

/** The system's code where there is one: its text would repeat the address. */
export function reasonOf(error: unknown): string {
  return codeOf(error) ?? messageOf(error)
}
