/**
 * Who may ask at all: the checks of the serve protocol ("Who may connect") in their order. The control socket is the
 * operator's by its file mode; TCP always needs a token, also from this machine.
 */

import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import type { BeigeError, Clock } from '@beige/protocol'
import { fail } from '../errors.ts'
import { wireOfPath } from '../llm/llm-routes.ts'
import type { ApiTokens, Scope } from '../tokens/api-tokens.ts'
import { MAX_KEY_CHARS, type VirtualKey, type VirtualKeys } from '../tokens/virtual-keys.ts'

export type Principal = {
  /** `local` or the token's name; what records and audit call them. */
  name: string
  tokenId: string | null
  scopes: ReadonlySet<Scope> | 'all'
  /** Null: every agent. */
  agents: readonly string[] | null
  /** A virtual key, which reaches models and nothing else. */
  key: VirtualKey | null
}

export type Refusal = { status: number; error: BeigeError; headers?: Readonly<Record<string, string>> }
export type Admission = { ok: true; principal: Principal } | ({ ok: false } & Refusal)

export type AdmissionParts = {
  tokens: ApiTokens
  keys: VirtualKeys
  publicHosts: readonly string[]
  origins: readonly string[]
  requestsPerMinute: number
  clock: Clock
}

const FAILURES_PER_MINUTE = 10 // wrong tokens from one address
const MINUTE_MS = 60_000
const MAX_ADDRESSES = 10_000

export const OPERATOR: Principal = { name: 'local', tokenId: null, scopes: 'all', agents: null, key: null }

type Found = { principal: Principal; perMinute: number }
const KEY_SCOPES: ReadonlySet<Scope> = new Set(['llm'])

export function createAdmission(parts: AdmissionParts): {
  tcp(request: IncomingMessage): Admission
  control(request: IncomingMessage): Admission
} {
  const failures = createCounter(parts.clock)
  const requests = createCounter(parts.clock)

  function tcp(request: IncomingMessage): Admission {
    const wrong = hostProblem(request, parts.publicHosts) ?? originProblem(request, parts.origins)
    if (wrong) return { ok: false, ...wrong }
    const address = request.socket.remoteAddress ?? ''
    if (failures.count(address) >= FAILURES_PER_MINUTE) return limited(failures.resetsInMs(address))
    const token = tokenOf(request)
    const found = token === undefined ? null : (byToken(token) ?? byKey(token))
    if (found === null) {
      if (token !== undefined) failures.add(address)
      return { ok: false, status: 401, error: fail('unauthorized') }
    }
    const { principal, perMinute } = found
    const id = principal.tokenId ?? ''
    if (requests.count(id) >= perMinute) return limited(requests.resetsInMs(id))
    requests.add(id)
    return { ok: true, principal }
  }

  function byToken(token: string): Found | null {
    const row = parts.tokens.check(token)
    if (row === null) return null
    const scopes = new Set(row.scopes)
    const principal = { name: row.name, tokenId: row.id, scopes, agents: row.agents, key: null }
    return { principal, perMinute: parts.requestsPerMinute }
  }

  function byKey(token: string): Found | null {
    const key = parts.keys.check(token)
    if (key === null) return null
    const principal = { name: key.label, tokenId: key.id, scopes: KEY_SCOPES, agents: null, key }
    return { principal, perMinute: key.rpm ?? parts.requestsPerMinute }
  }

  function control(request: IncomingMessage): Admission {
    // A page in a browser can not open a Unix socket; whatever carries an Origin came through something that can.
    if (request.headers.origin !== undefined) return { ok: false, status: 403, error: fail('bad_origin') }
    return { ok: true, principal: OPERATOR }
  }
  return { tcp, control }
}

/** `Authorization`, or where models are asked `x-api-key`, which is how clients of one vendor send it. */
function tokenOf(request: IncomingMessage): string | undefined {
  const path = (request.url ?? '').split('?')[0] ?? ''
  const given = request.headers.authorization
  const bearer = given === undefined ? null : /^Bearer ([!-~]+)$/i.exec(given)
  if (given !== undefined || wireOfPath(path) === null) return bounded(bearer?.[1])
  const header = request.headers['x-api-key']
  return typeof header === 'string' ? bounded(header) : undefined
}

function bounded(token: string | undefined): string | undefined {
  return token !== undefined && token.length <= MAX_KEY_CHARS ? token : undefined
}

export function allows(principal: Principal, scope: Scope): boolean {
  return principal.scopes === 'all' || principal.scopes.has(scope)
}

export function maySee(principal: Principal, agent: string): boolean {
  return principal.agents === null || principal.agents.includes(agent)
}

function hostProblem(request: IncomingMessage, publicHosts: readonly string[]): Refusal | null {
  const given = request.rawHeaders.filter(
    (_, index) => index % 2 === 0 && /^host$/i.test(request.rawHeaders[index] ?? ''),
  )
  const host = request.headers.host ?? ''
  const name = hostName(host)
  if (request.httpVersion !== '1.1')
    return { status: 400, error: fail('bad_request', { reason: 'only HTTP/1.1 is spoken here' }) }
  if (given.length !== 1 || name === null)
    return { status: 400, error: fail('bad_request', { reason: 'one Host header is needed' }) }
  // An address, `localhost` or a listed name; a name that somebody pointed here is none of these (DNS rebinding).
  if (isIP(name) !== 0 || name === 'localhost' || publicHosts.includes(name)) return null
  return { status: 403, error: fail('bad_host') }
}

/** Lower case, without port and brackets; null for what is no host. */
function hostName(host: string): string | null {
  const match = /^(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._-]+))(?::\d{1,5})?$/.exec(host)
  const name = match?.[1] ?? match?.[2]
  return name === undefined ? null : name.toLowerCase()
}

function originProblem(request: IncomingMessage, origins: readonly string[]): Refusal | null {
  const { origin } = request.headers
  if (origin !== undefined)
    return origins.includes(origin) ? null : { status: 403, error: fail('bad_origin') }
  const site = request.headers['sec-fetch-site']
  return site === undefined || site === 'none' ? null : { status: 403, error: fail('bad_origin') }
}

function limited(inMs: number): Admission {
  const seconds = Math.max(1, Math.ceil(inMs / 1000))
  return {
    ok: false,
    status: 429,
    error: fail('rate_limited', { retryAfterSeconds: seconds }),
    headers: { 'Retry-After': String(seconds) },
  }
}

/** Counts by name within the running minute; bounded in names. */
function createCounter(clock: Clock) {
  const windows = new Map<string, { startedAt: number; count: number }>()
  const current = (name: string) => {
    const window = windows.get(name)
    if (window && clock.monotonic() - window.startedAt < MINUTE_MS) return window
    windows.delete(name)
    return null
  }
  return {
    count: (name: string) => current(name)?.count ?? 0,
    resetsInMs: (name: string) =>
      MINUTE_MS - (clock.monotonic() - (current(name)?.startedAt ?? clock.monotonic())),
    add(name: string) {
      const window = current(name)
      if (window) window.count++
      else {
        const oldest = windows.size >= MAX_ADDRESSES ? windows.keys().next().value : undefined
        if (oldest !== undefined) windows.delete(oldest)
        windows.set(name, { startedAt: clock.monotonic(), count: 1 })
      }
    },
  }
}
