/** The paths of every listener, in front of the session host. Checks come in the order of the page's table. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { type AttachAsk, answerHostCommand, EXEC_NOTIFY_PATH, isHostCommand, serveCode } from '@beige/host'
import { BeigeError, isError, isSessionId, messageOf, newSessionId, type SessionId } from '@beige/protocol'
import { readCommand } from './body.ts'
import { streamEvents } from './event-stream.ts'
import { execNotified } from './exec-notify.ts'
import type { Admission, Request as Asking, ListenerKind, Principal } from './guard.ts'
import { post } from './post.ts'
import { isSameUser } from './same-user.ts'
import type { Serving } from './serving.ts'
import { createWebSockets } from './web-socket.ts'

const SESSION_PATH = '/_beyond/agent'
const PROBES: readonly string[] = ['/livez', '/readyz']
const LATER_SECS = 1

export interface HttpSurface {
  request(kind: ListenerKind, request: IncomingMessage, response: ServerResponse): void
  upgrade(kind: ListenerKind, request: IncomingMessage, socket: Duplex, head: Buffer): void
}

type Refusal = { status: number; code: string; message: string; headers?: Record<string, string> }
type Asked = { id: SessionId; isNew: boolean; role: 'drive' | 'view'; ask: AttachAsk }

export function createHttpSurface(serving: Serving): HttpSurface {
  const sockets = createWebSockets(serving)
  const uid = process.getuid?.() ?? -1

  function asking(kind: ListenerKind, { socket, headers }: IncomingMessage): Asking {
    const address = socket.remoteAddress ?? ''
    return { kind, headers, address, isSameUser: () => kind === 'tcp' && isSameUser(socket, uid) }
  }

  const admitted = (kind: ListenerKind, request: IncomingMessage): Admission =>
    serving.guard.admit(asking(kind, request))

  async function serve(
    kind: ListenerKind,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const url = urlOf(request)
    if (PROBES.includes(url.pathname)) return probe(url.pathname, request, response)
    if (url.pathname === EXEC_NOTIFY_PATH && serving.execNotify) {
      const refused = serving.guard.admitHost(asking(kind, request))
      if (refused && !refused.ok) return refuse(response, refusalOf(refused))
      if (request.method !== 'POST') return refuse(response, { ...NO_METHOD, headers: { Allow: 'POST' } })
      return await execNotified(serving.execNotify, serving.clock, { request, response, url })
    }
    if (request.method === 'OPTIONS' && serving.guard.isListedOrigin(request.headers.origin)) {
      return preflight(request, response)
    }
    const admission = admitted(kind, request)
    if (!admission.ok) return refuse(response, refusalOf(admission))
    if (admission.allowOrigin !== null) allowOrigin(response, admission.allowOrigin)
    if (url.pathname !== SESSION_PATH) return refuse(response, NOT_FOUND)
    if (request.method === 'POST') return posted(request, response, url, admission.principal)
    const isStream = (request.headers.accept ?? '').includes('text/event-stream')
    if (request.method !== 'GET' || !isStream) return refuse(response, NO_METHOD)
    const asked = askedOf(serving, url, admission.principal, request.headers['last-event-id'])
    if ('status' in asked) return refuse(response, asked)
    response.setHeader('X-Session-Id', asked.id)
    await streamEvents(serving, response, { ...asked, principal: admission.principal })
  }

  async function posted(
    request: IncomingMessage,
    response: ServerResponse,
    url: URL,
    principal: Principal,
  ): Promise<void> {
    const body = await readCommand(request, serving.clock)
    if (!body.ok) return refuse(response, body)
    const asked = askedOf(serving, url, principal)
    if ('status' in asked) return refuse(response, asked)
    const command = withKey(body.value, request.headers['idempotency-key'])
    if ('status' in command) return refuse(response, command)
    if (isHostCommand(command.value)) {
      return answer(response, 200, await answerHostCommand(serving.host, command.value))
    }
    if (asked.isNew && command.value.idempotency_key !== undefined) {
      return refuse(response, badRequest('an idempotency key belongs to a session: add session_id'))
    }
    const role = asked.role
    const { status, frame, runId } = await post(serving, command.value, {
      id: asked.id,
      principal: { ...principal, role },
    })
    if (response.destroyed) return
    response.setHeader('X-Session-Id', asked.id)
    if (runId !== null) response.setHeader('X-Run-Id', runId)
    if (frame) answer(response, status, frame)
    else refuse(response, { status, code: 'timeout', message: 'it goes on; viewers see its result' })
  }

  function probe(path: string, request: IncomingMessage, response: ServerResponse): void {
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      refuse(response, { ...NO_METHOD, headers: { Allow: 'GET, HEAD' } })
      return
    }
    const reason = path === '/livez' ? null : serving.notReady()
    answer(response, reason === null ? 200 : 503, { status: reason ?? 'ok' })
  }

  return {
    request: (kind, request, response) => {
      request.on('error', () => {})
      response.on('error', () => {})
      serve(kind, request, response).catch(error => failed(serving, response, error))
    },
    upgrade: (kind, request, socket, head) => {
      socket.on('error', () => {})
      const admission = admitted(kind, request)
      const url = urlOf(request)
      const asked = admission.ok
        ? url.pathname === SESSION_PATH
          ? askedOf(serving, url, admission.principal)
          : NOT_FOUND
        : refusalOf(admission)
      if ('status' in asked || !admission.ok)
        return refuseUpgrade(socket, 'status' in asked ? asked : NOT_FOUND)
      if (request.headers.upgrade?.toLowerCase() !== 'websocket') {
        return refuseUpgrade(socket, badRequest('only WebSocket is spoken here'))
      }
      if (serving.viewers.size >= serving.maxConnections) return refuseUpgrade(socket, FULL)
      sockets.upgrade({ request, socket, head, principal: admission.principal, ...asked })
    },
  }
}

const NOT_FOUND: Refusal = { status: 404, code: 'not_found', message: 'no such path' }
const NO_METHOD: Refusal = {
  ...{ status: 405, code: 'method', message: 'not with this method' },
  headers: { Allow: 'GET, POST' },
}
const FULL: Refusal = {
  ...{ status: 503, code: 'unavailable', message: 'too many connections' },
  headers: { 'Retry-After': String(LATER_SECS) },
}
const badRequest = (message: string): Refusal => ({ status: 400, code: 'bad_request', message })

function refusalOf({ status, code, message, retryAfterSecs }: Admission & { ok: false }): Refusal {
  return {
    ...{ status, code, message },
    ...(retryAfterSecs === undefined ? {} : { headers: { 'Retry-After': String(retryAfterSecs) } }),
  }
}

function urlOf(request: IncomingMessage): URL {
  return new URL(`http://localhost${(request.url ?? '/').replace(/^(?!\/)/, '/')}`)
}

function askedOf(
  serving: Serving,
  url: URL,
  principal: Principal,
  lastEventId?: string | string[],
): Asked | Refusal {
  const query = url.searchParams
  const id = query.get('session_id')
  if (id !== null && !isSessionId(id)) return badRequest('session_id is no session id')
  const role = query.get('role') ?? principal.role
  if (role !== 'drive' && role !== 'view') return badRequest('role is drive or view')
  const after = numberOf(query.get('after') ?? (typeof lastEventId === 'string' ? lastEventId : null))
  if (after === null) return badRequest('after is the number of a frame')
  const history = query.get('history') ?? undefined
  if (history !== undefined && history !== 'tail' && history !== 'all' && history !== 'none') {
    return badRequest('history is tail, all or none')
  }
  return {
    id: id ?? newSessionId(serving.clock, serving.random),
    isNew: id === null,
    role: principal.role === 'view' ? 'view' : role,
    ask: { after, history, since: query.get('since') ?? undefined },
  }
}

/** Null where it is none; undefined where there is none. */
function numberOf(text: string | null): number | undefined | null {
  if (text === null) return undefined
  const number = Number(text)
  return /^\d{1,16}$/.test(text) && Number.isSafeInteger(number) ? number : null
}

function withKey(
  value: Record<string, unknown>,
  header: string | string[] | undefined,
): { value: Record<string, unknown> } | Refusal {
  if (header === undefined) return { value }
  const key = String(header)
  if (value.idempotency_key !== undefined && value.idempotency_key !== key) {
    return badRequest('the key in the header and the key in the command differ')
  }
  return { value: { ...value, idempotency_key: key } }
}

function preflight(request: IncomingMessage, response: ServerResponse): void {
  allowOrigin(response, request.headers.origin ?? '')
  response.setHeader('Access-Control-Allow-Methods', 'GET, POST')
  response.setHeader(
    'Access-Control-Allow-Headers',
    'Authorization, Content-Type, Idempotency-Key, Last-Event-ID',
  )
  response.setHeader('Access-Control-Max-Age', '600')
  response.writeHead(204).end()
}

function allowOrigin(response: ServerResponse, origin: string): void {
  response.setHeader('Access-Control-Allow-Origin', origin)
  response.setHeader('Access-Control-Expose-Headers', 'X-Session-Id, X-Run-Id')
  response.setHeader('Vary', 'Origin')
}

function failed(serving: Serving, response: ServerResponse, error: unknown): void {
  if (!(error instanceof BeigeError)) serving.logError(error)
  if (response.headersSent) return void response.destroy()
  const code = error instanceof BeigeError ? serveCode(error.code) : 'internal'
  const isLater = isError(error, 'stopping', 'closing', 'too_many_viewers', 'session_busy')
  refuse(response, {
    status: isLater ? 503 : code === 'bad_request' ? 400 : code === 'not_found' ? 404 : 500,
    code,
    message: messageOf(error),
    ...(isLater ? { headers: { 'Retry-After': String(LATER_SECS) } } : {}),
  })
}

function answer(response: ServerResponse, status: number, value: unknown): void {
  const text = JSON.stringify(value)
  response.writeHead(status, {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(text),
    'Cache-Control': 'no-store',
  })
  response.end(text)
}

function refuse(response: ServerResponse, { status, code, message, headers = {} }: Refusal): void {
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
  // What of the request has not been read is not waited for.
  if (!response.req.complete) response.setHeader('Connection', 'close')
  answer(response, status, { error: { code, message } })
}

function refuseUpgrade(socket: Duplex, { status, code, message, headers = {} }: Refusal): void {
  const text = JSON.stringify({ error: { code, message } })
  const lines = [
    `HTTP/1.1 ${status} Refused`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(text)}`,
    'Connection: close',
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ]
  socket.end(`${lines.join('\r\n')}\r\n\r\n${text}`)
}
