/** Who may connect: checks 3 to 5 of the page's table, in its order. What a page in a browser can send fails here. */
import type { IncomingHttpHeaders } from 'node:http'
import { isIP } from 'node:net'
import type { Clock } from '@beige/protocol'
import type { KnownToken, TokenRole, Tokens } from './tokens.ts'

export const WS_PROTOCOL = 'beige.v1'
const WRONG_TOKENS = 10
const WRONG_WITHIN_MS = 60_000
const MAX_ADDRESSES = 10_000 // remembered for wrong tokens

export type ListenerKind = 'tcp' | 'tls' | 'unix'

/** Who is there, from our side of the connection. */
export type Principal = { origin: { kind: string; name?: string }; role: TokenRole; token: KnownToken | null }

export type Admission =
  | { ok: true; principal: Principal; allowOrigin: string | null }
  | { ok: false; status: number; code: string; message: string; retryAfterSecs?: number }

export type GuardSettings = {
  /** Host names beside IP literals and `localhost`; `.suffix` means a domain. */
  hosts: readonly string[]
  origins: readonly string[]
  requireToken: boolean
  tokens: Tokens | null
  clock: Clock
}

/** What a request shows of itself. `isSameUser` is asked last, it reads the kernel's tables. */
export type Request = {
  kind: ListenerKind
  headers: IncomingHttpHeaders
  address: string
  isSameUser: () => boolean
}

export interface Guard {
  /** Checks 3 and 4 alone, for what brings a token of its own. */
  admitHost(request: Request): Admission | null
  admit(request: Request): Admission
  isListedOrigin(origin: string | undefined): boolean
}

export function createGuard(settings: GuardSettings): Guard {
  const wrong = createWrongTokens(settings.clock)

  function host({ kind, headers }: Request): Admission | null {
    if (kind === 'unix') return null
    return isKnownHost(headers.host ?? '', settings.hosts)
      ? null
      : refused(403, 'host', 'an unknown host name')
  }

  function origin({ kind, headers }: Request): Admission | null {
    if (kind === 'unix') {
      return headers.origin === undefined ? null : refused(403, 'origin', 'no page connects here')
    }
    if (headers.origin !== undefined) {
      return isListed(headers.origin) ? null : refused(403, 'origin', 'this origin is not allowed')
    }
    const site = headers['sec-fetch-site']
    return site === undefined || site === 'none' ? null : refused(403, 'origin', 'sent by a page')
  }

  const isListed = (name: string | undefined) => name !== undefined && settings.origins.includes(name)

  function who(request: Request): Admission {
    const { kind, headers, address } = request
    const allowOrigin = isListed(headers.origin) ? (headers.origin ?? null) : null
    if (kind === 'unix') return { ok: true, principal: LOCAL, allowOrigin }
    const token = tokenOf(headers)
    if (token !== null) {
      const waitMs = wrong.waitMs(address)
      if (waitMs > 0) {
        return {
          ...refused(429, 'too_many', 'too many wrong tokens'),
          retryAfterSecs: Math.ceil(waitMs / 1000),
        }
      }
      const known = settings.tokens?.find(token) ?? null
      if (known) return { ok: true, principal: principalOf(known), allowOrigin }
      wrong.count(address)
      return refused(401, 'unauthorized', 'unauthorized')
    }
    const isDirect = PROXY_HEADERS.every(name => headers[name] === undefined)
    if (!settings.requireToken && isDirect && request.isSameUser()) {
      return { ok: true, principal: LOCAL, allowOrigin }
    }
    return refused(401, 'unauthorized', 'unauthorized')
  }

  return {
    admitHost: host,
    admit: request => host(request) ?? origin(request) ?? who(request),
    isListedOrigin: isListed,
  }
}

const LOCAL: Principal = { origin: { kind: 'local' }, role: 'drive', token: null }
const PROXY_HEADERS = [
  'forwarded',
  'via',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-forwarded-port',
  'x-forwarded-server',
] as const

function principalOf(token: KnownToken): Principal {
  const origin = { kind: 'token', ...(token.name === null ? {} : { name: token.name }) }
  return { origin, role: token.role, token }
}

function refused(status: number, code: string, message: string): Admission & { ok: false } {
  return { ok: false, status, code, message }
}

/** From the header, or from the protocols that a page's WebSocket asks for; never from a URL. */
function tokenOf(headers: IncomingHttpHeaders): string | null {
  const { authorization } = headers
  if (authorization !== undefined) return /^Bearer +(\S+) *$/i.exec(authorization)?.[1] ?? ''
  const protocols = (headers['sec-websocket-protocol'] ?? '').split(',').map(one => one.trim())
  const bearer = protocols.find(one => one.startsWith('bearer.'))
  return bearer === undefined ? null : bearer.slice('bearer.'.length)
}

export function isKnownHost(header: string, hosts: readonly string[]): boolean {
  const name = (/^\[([^\]]+)\](:\d+)?$/.exec(header)?.[1] ?? header.replace(/:\d+$/, ''))
    .toLowerCase()
    .replace(/\.$/, '')
  if (isIP(name) !== 0 || name === 'localhost') return true
  return hosts.some(host => {
    const allowed = host.toLowerCase()
    return allowed.startsWith('.') ? name.endsWith(allowed) : name === allowed
  })
}

function createWrongTokens(clock: Clock) {
  const times = new Map<string, number[]>()
  const recent = (address: string) =>
    (times.get(address) ?? []).filter(at => clock.monotonic() - at < WRONG_WITHIN_MS)
  return {
    count: (address: string) => {
      const list = [...recent(address), clock.monotonic()].slice(-WRONG_TOKENS)
      times.delete(address)
      times.set(address, list)
      const [oldest] = times.keys()
      if (times.size > MAX_ADDRESSES && oldest !== undefined) times.delete(oldest)
    },
    /** 60 s from the newest of ten. */
    waitMs: (address: string) => {
      const list = recent(address)
      if (list.length < WRONG_TOKENS) return 0
      return Math.max(0, (list.at(-1) ?? 0) + WRONG_WITHIN_MS - clock.monotonic())
    },
  }
}
