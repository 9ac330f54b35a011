/** The kit's own HTTP: no pool, no repeats, nothing of the exec client, so that a mistake there is not shared. */
import {
  type ClientRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestOptions,
  request as startHttp,
} from 'node:http'
import { request as startHttps } from 'node:https'
import { messageOf } from '@beige/protocol'
import { fail } from '../errors.ts'
import type { ExecEndpoint } from '../exec-client.ts'

/** Of an answer that is read whole. */
const MAX_REPLY_BYTES = 256 * 1024 * 1024

export type RawRequest = {
  method: string
  /** Below the base URL, with its query; empty for the base itself. */
  path: string
  headers?: Readonly<Record<string, string>>
  body?: string | Uint8Array
  /** Leaves the caller's own headers out. */
  isAnonymous?: boolean
}
export type RawReply = { status: number; headers: IncomingHttpHeaders; body: Buffer }

export interface RawHttp {
  /** For people, without credentials. */
  readonly name: string
  readonly headers: Readonly<Record<string, string>>
  /** True where the endpoint can be taken to reach a loopback port of this machine. */
  readonly isNear: boolean
  send(request: RawRequest, signal: AbortSignal): Promise<RawReply>
  /** Resolves with the head of the answer; whoever asked destroys it. */
  open(request: RawRequest, signal: AbortSignal): Promise<IncomingMessage>
  /** A request whose body its caller writes, part by part. */
  begin(request: Omit<RawRequest, 'body'>, signal: AbortSignal): Upload
}
export type Upload = { request: ClientRequest; reply: Promise<RawReply> }

export function rawHttp(endpoint: ExecEndpoint): RawHttp {
  const { name, isNear, start, basePath } = placeOf(endpoint)
  const own = endpoint.kind === 'url' ? endpoint.headers : {}

  function launch(wanted: Omit<RawRequest, 'body'>, signal: AbortSignal, length?: number): ClientRequest {
    const headers: Record<string, string | number> = {
      ...(wanted.isAnonymous ? {} : own),
      ...(length === undefined ? {} : { 'content-length': length }),
      ...wanted.headers,
    }
    const path = `${basePath}${wanted.path}` || '/'
    return start({ method: wanted.method, path, headers, agent: false, signal })
  }

  function answerOf(request: ClientRequest): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      request.once('response', message => {
        message.on('error', () => undefined) // its reader sees it too, where there is one
        resolve(message)
      })
      // `on`: an endpoint that answers early and closes makes the rest of an upload fail.
      request.on('error', error => reject(unanswered(error)))
    })
  }

  const open: RawHttp['open'] = async (wanted, signal) => {
    const body = wanted.body === undefined ? undefined : Buffer.from(wanted.body)
    const request = launch(wanted, signal, body?.length)
    const answer = answerOf(request)
    request.end(body)
    return await answer
  }

  return {
    name,
    isNear,
    headers: own,
    open,
    send: async (wanted, signal) => await whole(await open(wanted, signal)),
    begin(wanted, signal) {
      const request = launch(wanted, signal)
      const reply = answerOf(request).then(whole)
      reply.catch(() => undefined) // one that is broken off has none
      return { request, reply }
    },
  }
}

async function whole(message: IncomingMessage): Promise<RawReply> {
  const parts: Buffer[] = []
  let bytes = 0
  try {
    for await (const part of message) {
      parts.push(part)
      bytes += part.length
      if (bytes > MAX_REPLY_BYTES) throw fail('check_failed', { reason: 'an answer that does not end' })
    }
  } catch (error) {
    throw unanswered(error)
  }
  return { status: message.statusCode ?? 0, headers: message.headers, body: Buffer.concat(parts) }
}

function unanswered(error: unknown) {
  return fail('check_failed', { reason: `the connection broke: ${messageOf(error)}` }, error)
}

type Place = {
  name: string
  isNear: boolean
  basePath: string
  start(options: RequestOptions): ClientRequest
}

function placeOf(endpoint: ExecEndpoint): Place {
  if (endpoint.kind === 'unix') {
    const { socketPath, basePath } = endpoint
    return {
      name: `unix:${socketPath}`,
      isNear: true,
      basePath: basePath.replace(/\/$/, ''),
      start: options => startHttp({ ...options, socketPath }),
    }
  }
  const url = URL.canParse(endpoint.url) ? new URL(endpoint.url) : null
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:') {
    throw fail('endpoint_wrong', { endpoint: endpoint.url, reason: 'neither an http nor an https URL' })
  }
  const hostname = url.hostname.replace(/^\[|\]$/g, '')
  const where = { hostname, ...(url.port ? { port: url.port } : {}) }
  const start = url.protocol === 'https:' ? startHttps : startHttp
  return {
    name: `${url.protocol}//${url.host}${url.pathname}`,
    isNear: hostname === 'localhost' || hostname === '::1' || hostname.startsWith('127.'),
    basePath: url.pathname.replace(/\/$/, ''),
    start: options => start({ ...options, ...where }),
  }
}
