/** Binds what was asked for: TCP, TLS, Unix sockets, descriptors of a service manager. All lead to one surface. */
import { chmodSync, lstatSync, readFileSync, readlinkSync, rmSync } from 'node:fs'
import { createServer, type Server, type ServerOptions } from 'node:http'
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { MAX_HEADER_BYTES, messageOf } from '@beige/protocol'
import { fail } from '../errors.ts'
import type { ListenerKind } from './guard.ts'
import type { HttpSurface } from './http-surface.ts'
import { isLoopback } from './same-user.ts'
import type { ListenSpec } from './serve-options.ts'

const HEADER_MS = 10_000
const CHECK_MS = 1000
const KEEP_ALIVE_MS = 30_000
const PROBE_MS = 2000
const UNIX_UMASK = 0o177

export type Listening = { kind: ListenerKind; address: string }

export interface Listeners {
  readonly listening: readonly Listening[]
  /** Reads certificate and key again; a pair that is none leaves the old one and is told. */
  reloadTls(): void
  /** No new connections; resolves when the old ones have ended. */
  close(): Promise<void>
}

export type ListenersParts = {
  specs: readonly ListenSpec[]
  tls: { cert: string; key: string } | null
  allowPlaintext: boolean
  maxConnections: number
  surface: HttpSurface
  warn(text: string): void
}

/** All or none. Throws `listen` and what a certificate is refused with. */
export async function openListeners(parts: ListenersParts): Promise<Listeners> {
  const { specs, surface, tls, warn } = parts
  const open: { server: Server | TlsServer; path: string | null; isTls: boolean }[] = []
  const sockets = new Set<Socket>()
  const listening: Listening[] = []
  let pair = tls ? readPair(tls) : null

  function serverFor(kind: ListenerKind, isTls: boolean): Server | TlsServer {
    const options: ServerOptions = {
      maxHeaderSize: MAX_HEADER_BYTES,
      headersTimeout: HEADER_MS,
      requestTimeout: 0, // bodies have a limit of their own, and an answer may take long
      connectionsCheckingInterval: CHECK_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
    }
    const server =
      isTls && pair
        ? createTlsServer({ ...options, ...pair, minVersion: 'TLSv1.2', ALPNProtocols: ['http/1.1'] })
        : createServer(options)
    server.on('request', (request, response) => surface.request(kind, request, response))
    server.on('upgrade', (request, socket, head) => surface.upgrade(kind, request, socket, head))
    server.on('clientError', refuseUnparsed)
    server.on('connection', (socket: Socket) => {
      sockets.add(socket)
      socket.once('close', () => sockets.delete(socket))
      socket.on('error', () => {}) // its request or stream hears of it
      if (sockets.size <= parts.maxConnections) return
      socket.end(
        'HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\nContent-Length: 0\r\n\r\n',
      )
    })
    return server
  }

  async function bind(spec: ListenSpec): Promise<void> {
    if (spec.kind === 'unix') {
      await freePath(spec.path)
      const server = serverFor('unix', false)
      const before = process.umask(UNIX_UMASK)
      try {
        await listen(server, { path: spec.path })
      } finally {
        process.umask(before)
      }
      chmodSync(spec.path, spec.mode)
      open.push({ server, path: spec.path, isTls: false })
      listening.push({ kind: 'unix', address: spec.path })
      return
    }
    const isTls = spec.kind === 'tls' || (spec.kind === 'fd' && spec.tls)
    let kind: ListenerKind = isTls ? 'tls' : 'tcp'
    if (spec.kind === 'fd' && isUnixSocket(spec.fd)) kind = 'unix'
    const server = serverFor(kind, isTls)
    await listen(server, spec.kind === 'fd' ? { fd: spec.fd } : spec.address)
    open.push({ server, path: null, isTls })
    const address = server.address()
    if (kind === 'tcp' && typeof address === 'object' && address && !parts.allowPlaintext) {
      if (!isLoopback(address.address)) throw fail('plaintext', { address: shown(address) })
    }
    listening.push({
      kind,
      address: typeof address === 'object' && address ? shown(address) : (address ?? ''),
    })
  }

  function reloadTls(): void {
    if (!tls) return
    try {
      const next = readPair(tls)
      if (pair && next.cert.equals(pair.cert) && next.key.equals(pair.key)) return
      for (const { server, isTls } of open)
        if (isTls && 'setSecureContext' in server) server.setSecureContext(next)
      pair = next
    } catch (error) {
      warn(`certificate and key are kept as they were: ${messageOf(error)}`)
    }
  }

  async function close(): Promise<void> {
    const ends = open.map(({ server }) => new Promise<void>(resolve => server.close(() => resolve())))
    for (const { server } of open) server.closeIdleConnections()
    for (const socket of sockets) socket.destroySoon()
    await Promise.all(ends)
    for (const { path } of open) if (path !== null) rmSync(path, { force: true })
  }

  try {
    for (const spec of specs) await bind(spec)
  } catch (error) {
    await close()
    throw error
  }
  return { listening, reloadTls, close }
}

function shown({ address, port, family }: AddressInfo): string {
  return family === 'IPv6' ? `[${address}]:${port}` : `${address}:${port}`
}

type Place = { path: string } | { fd: number } | { host: string; port: number }

function listen(server: Server | TlsServer, place: Place): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', error =>
      reject(fail('listen', { place: JSON.stringify(place), reason: error.message }, error)),
    )
    server.listen(place, () => resolve())
  })
}

function readPair({ cert, key }: { cert: string; key: string }) {
  try {
    const pair = { cert: readFileSync(cert), key: readFileSync(key) }
    createTlsServer(pair) // throws where they do not belong together
    return pair
  } catch (error) {
    throw fail('tls', { cert, key, reason: messageOf(error) }, error)
  }
}

/** A stale socket goes; one that somebody answers on, and what is no socket, is left. */
async function freePath(path: string): Promise<void> {
  const there = lstatSync(path, { throwIfNoEntry: false })
  if (!there) return
  if (!there.isSocket()) throw fail('listen', { place: path, reason: 'there is something that is no socket' })
  if (await answers(path)) throw fail('listen', { place: path, reason: 'somebody listens there' })
  rmSync(path, { force: true })
}

function answers(path: string): Promise<boolean> {
  return new Promise(resolve => {
    const socket = connect({ path, timeout: PROBE_MS })
    const end = (isThere: boolean) => {
      socket.destroy()
      resolve(isThere)
    }
    socket.once('connect', () => end(true))
    socket.once('timeout', () => end(true))
    socket.once('error', error => end(!('code' in error && error.code === 'ECONNREFUSED')))
  })
}

const UNPARSED: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
}

/** Every request is answered, also one that could not be read (H75). */
function refuseUnparsed(
  error: Error,
  socket: { writable: boolean; end(text: string): void; destroy(): void },
): void {
  const status = UNPARSED['code' in error ? String(error.code) : ''] ?? '400 Bad Request'
  if (socket.writable) socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`)
  else socket.destroy()
}

/** By the kernel's table of Unix sockets. */
function isUnixSocket(fd: number): boolean {
  const inode = /socket:\[(\d+)\]/.exec(linkOf(fd))?.[1]
  if (inode === undefined) throw fail('listen', { place: `descriptor ${fd}`, reason: 'it is no socket' })
  return readFileSync('/proc/net/unix', 'latin1')
    .split('\n')
    .some(line => line.split(/ +/)[6] === inode)
}

function linkOf(fd: number): string {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`)
  } catch {
    return ''
  }
}
