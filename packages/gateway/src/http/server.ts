/** The two listeners, the operator's Unix socket and TCP, in front of one table of routes. */
import { chmodSync, closeSync, constants, openSync, readFileSync, rmSync } from 'node:fs'
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { basename, dirname } from 'node:path'
import { BeigeError, type Clock } from '@beige/protocol'
import type { GatewaySettings } from '../config/resolved.ts'
import { fail } from '../errors.ts'
import { type Admission, allows, type createAdmission } from './admission.ts'
import { answerError, answerJson, errorBody } from './answers.ts'
import { readJsonBody } from './body.ts'
import { findRoute, type Route } from './routes.ts'

const HEAD_BYTES = 16_384
const HEAD_TIMEOUT_MS = 10_000
const REQUEST_TIMEOUT_MS = 60_000 // head and body; the answer may take as long as it takes
const KEEP_ALIVE_MS = 30_000
const MAX_CONNECTIONS = 1024

export type ServerParts = {
  settings: GatewaySettings
  admission: ReturnType<typeof createAdmission>
  routes: readonly Route[]
  clock: Clock
  /** What `/readyz` says; null: ready. */
  notReady(): string | null
  /** What `/livez` says; null: alive. */
  notAlive(): string | null
  logError(error: unknown): void
  /** Says an error in the words of a path's own clients; false where it has none. */
  answerErrorOf(path: string, response: ServerResponse, error: unknown): boolean
}

export interface HttpServer {
  /** Null before it listens. */
  readonly address: { host: string; port: number } | null
  listenControl(path: string): Promise<void>
  listenTcp(): Promise<void>
  /** Ends the streams of a token that was revoked. */
  closeStreamsOf(tokenId: string): void
  close(): Promise<void>
}

export function createHttpServer(parts: ServerParts): HttpServer {
  const { settings } = parts
  const servers: Server[] = []
  const sockets = new Set<Socket>()
  const streams = new Map<ServerResponse, string | null>()
  let address: HttpServer['address'] = null
  let controlFolder: number | null = null
  let controlPath: string | null = null

  async function serve(
    admit: (request: IncomingMessage) => Admission,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const path = (request.url ?? '').split('?')[0] ?? ''
    if (path === '/livez' || path === '/readyz') return probe(path, request, response)
    if (settings.origins.includes(request.headers.origin ?? '')) allowOrigin(request, response)
    if (response.hasHeader('Access-Control-Allow-Methods')) return void response.writeHead(204).end()
    const admission = admit(request)
    if (!admission.ok) {
      if (parts.answerErrorOf(path, response, admission.error)) return
      return answerJson(response, admission.status, errorBody(admission.error), admission.headers)
    }
    const { principal } = admission
    const found = findRoute(parts.routes, request.method ?? '', path)
    if (!allows(principal, found.route.scope)) throw fail('forbidden', { scope: found.route.scope })
    const body =
      found.route.method === 'POST'
        ? await readJsonBody(
            request,
            Math.max(found.route.maxBodyBytes ?? 0, settings.maxBodyBytes),
            parts.clock,
          )
        : null
    streams.set(response, principal.tokenId)
    response.once('close', () => streams.delete(response))
    await found.route.handle({
      request,
      response,
      principal,
      params: found.params,
      body,
      query: queryOf(request),
    })
  }

  function probe(path: string, request: IncomingMessage, response: ServerResponse): void {
    if (request.method !== 'GET' && request.method !== 'HEAD') throw fail('bad_method', { allow: 'GET' })
    const isLive = path === '/livez'
    const reason = isLive ? parts.notAlive() : parts.notReady()
    const status = reason === null ? (isLive ? 'ok' : 'ready') : isLive ? 'stuck' : 'not ready'
    answerJson(response, reason === null ? 200 : 503, { status })
  }

  const listener =
    (admit: (request: IncomingMessage) => Admission): RequestListener =>
    (request, response) => {
      request.on('error', () => undefined)
      response.on('error', () => undefined)
      serve(admit, request, response).catch(error => {
        if (!(error instanceof BeigeError)) parts.logError(error)
        if (response.headersSent) response.destroy()
        else if (!parts.answerErrorOf((request.url ?? '').split('?')[0] ?? '', response, error))
          answerError(response, error)
      })
    }

  function prepared(server: Server): Server {
    server.headersTimeout = HEAD_TIMEOUT_MS
    server.requestTimeout = REQUEST_TIMEOUT_MS
    server.keepAliveTimeout = KEEP_ALIVE_MS
    server.maxConnections = MAX_CONNECTIONS
    server.on('connection', socket => {
      sockets.add(socket)
      socket.once('close', () => sockets.delete(socket))
    })
    // Every request is answered, also one that could not be parsed (H75).
    server.on('clientError', (error, socket) => {
      const status = STATUS_OF_PARSER['code' in error ? String(error.code) : ''] ?? '400 Bad Request'
      if (socket.writable) socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`)
      else socket.destroy()
    })
    servers.push(server)
    return server
  }

  return {
    get address() {
      return address
    },
    async listenControl(path) {
      const server = prepared(
        createServer(
          OPTIONS,
          listener(request => parts.admission.control(request)),
        ),
      )
      rmSync(path, { force: true })
      controlPath = path
      controlFolder = openSync(dirname(path), constants.O_RDONLY | constants.O_DIRECTORY)
      await listening(server, { path: `/proc/self/fd/${controlFolder}/${basename(path)}` })
      chmodSync(path, 0o600)
    },
    async listenTcp() {
      const handler = listener(request => parts.admission.tcp(request))
      const server = prepared(
        settings.tls === null
          ? createServer(OPTIONS, handler)
          : createTlsServer(
              {
                ...OPTIONS,
                cert: readFileSync(settings.tls.cert),
                key: readFileSync(settings.tls.key),
                minVersion: 'TLSv1.2',
              },
              handler,
            ),
      )
      await listening(server, { host: settings.host, port: settings.port })
      const bound = server.address()
      if (isAddress(bound)) address = { host: settings.host, port: bound.port }
    },
    closeStreamsOf(tokenId) {
      for (const [response, owner] of streams) if (owner === tokenId) response.destroy()
    },
    async close() {
      const closed = servers.map(server => new Promise<void>(resolve => server.close(() => resolve())))
      for (const socket of sockets) socket.destroy()
      await Promise.all(closed)
      if (controlFolder !== null) closeSync(controlFolder)
      if (controlPath !== null) rmSync(controlPath, { force: true })
    },
  }
}

/** For listed origins alone: no other page may even read that it was refused. A preflight has no token and needs none. */
function allowOrigin(request: IncomingMessage, response: ServerResponse): void {
  response.setHeader('Access-Control-Allow-Origin', request.headers.origin ?? '')
  response.setHeader('Vary', 'Origin')
  if (request.method !== 'OPTIONS' || request.headers['access-control-request-method'] === undefined) return
  response.setHeader('Access-Control-Allow-Methods', 'GET, POST, DELETE')
  response.setHeader('Access-Control-Allow-Headers', 'Authorization, Content-Type')
  response.setHeader('Access-Control-Max-Age', '600')
}

const OPTIONS = { maxHeaderSize: HEAD_BYTES, requireHostHeader: false, insecureHTTPParser: false } as const

const STATUS_OF_PARSER: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
}

function listening(server: Server, where: { path: string } | { host: string; port: number }): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(where, () => {
      server.off('error', reject)
      resolve()
    })
  })
}

function isAddress(value: string | AddressInfo | null): value is AddressInfo {
  return typeof value === 'object' && value !== null
}

function queryOf(request: IncomingMessage): URLSearchParams {
  const at = (request.url ?? '').indexOf('?')
  return new URLSearchParams(at < 0 ? '' : (request.url ?? '').slice(at + 1))
}
