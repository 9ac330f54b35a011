/** Flags of `agent serve` beside those of `run`, with their variables (agent-cli.md, Serve). */
import { existsSync, lstatSync } from 'node:fs'
import { isIP } from 'node:net'
import { dirname, join, resolve } from 'node:path'
import type { ApproveSettings, LifecycleSink } from '@beige/host'
import { MAX_CONNECTIONS } from '@beige/protocol'
import { fail } from '../errors.ts'
import type { AgentOptions } from '../options.ts'
import type { ProcessWorld } from '../process-world.ts'
import { lifecycleSink } from './lifecycle-sink.ts'
import { isLoopback } from './same-user.ts'

const DEFAULT_IDLE_SECS = 3600
const DEFAULT_HEARTBEAT_SECS = 10
const DEFAULT_APPROVAL_SECS = 300
const MAX_SECS = 2 ** 31 / 1000 - 1
const SYSTEMD_FIRST = 3
const MAX_SYSTEMD = 8
const OTHERS_WRITE = 0o022
const STICKY = 0o1000

/** As commander gives them. */
export type RawServeOptions = {
  listen?: string
  tlsListen?: string
  listenUds?: string
  listenUdsMode?: string
  tlsCert?: string
  tlsKey?: string
  authTokenFile?: string
  requireToken?: boolean
  allowPlaintext?: boolean
  allowHost?: string[]
  allowOrigin?: string[]
  maxConnections?: string
  sessionIdleTimeout?: string
  drainGrace?: string
  approve?: string
  approvalTimeout?: string
  lifecycleUrl?: string
  lifecycleHeader?: string[]
  lifecycleHeartbeatSecs?: string
}

export type Address = { host: string; port: number }
export type ListenSpec =
  | { kind: 'tcp'; address: Address }
  | { kind: 'tls'; address: Address }
  | { kind: 'unix'; path: string; mode: number }
  | { kind: 'fd'; fd: number; tls: boolean }

export type ServeOptions = {
  listeners: readonly ListenSpec[]
  tls: { cert: string; key: string } | null
  tokenFile: string
  requireToken: boolean
  allowPlaintext: boolean
  allowHosts: readonly string[]
  allowOrigins: readonly string[]
  maxConnections: number
  idleReleaseMs: number
  drainGraceMs: number
  approve: ApproveSettings
  /** Who is told what became of runs; null: nobody. */
  lifecycle: LifecycleSink | null
}

export function serveOptions(
  raw: RawServeOptions,
  agent: Pick<AgentOptions, 'stateDir'>,
  world: Pick<ProcessWorld, 'env' | 'cwd'>,
): ServeOptions {
  const { env, cwd } = world
  const variable = (name: string) => env[`AI_AGENT_${name}`] || undefined
  const flag = (name: string) => variable(name) === '1' || variable(name) === 'true'
  const list = (given: string[] | undefined, name: string) =>
    (given ?? (variable(name) ?? '').split(',')).map(one => one.trim()).filter(one => one !== '')
  const seconds = (name: string, text: string | undefined, otherwise: number) => {
    if (text === undefined) return otherwise * 1000
    const value = Number(text)
    if (text.trim() !== '' && value >= 0 && value <= MAX_SECS) return Math.round(value * 1000)
    throw bad(name, `${JSON.stringify(text)} is none`, 'seconds from 0')
  }
  const cert = raw.tlsCert ?? variable('TLS_CERT')
  const key = raw.tlsKey ?? variable('TLS_KEY')
  if ((cert === undefined) !== (key === undefined)) {
    throw bad('--tls-cert', 'it needs --tls-key beside it', 'both or neither')
  }
  const allowPlaintext = raw.allowPlaintext ?? flag('ALLOW_PLAINTEXT')
  const listeners: ListenSpec[] = []
  const listen = raw.listen ?? variable('LISTEN')
  if (listen !== undefined) {
    listeners.push({ kind: 'tcp', address: addressOf('--listen', listen, allowPlaintext) })
  }
  const tlsListen = raw.tlsListen ?? variable('TLS_LISTEN')
  if (tlsListen !== undefined) {
    listeners.push({ kind: 'tls', address: addressOf('--tls-listen', tlsListen, true) })
  }
  const uds = raw.listenUds ?? variable('LISTEN_UDS')
  if (uds !== undefined) {
    const path = resolve(cwd, uds)
    refuseFolderOfOthers(path)
    listeners.push({ kind: 'unix', path, mode: modeOf(raw.listenUdsMode ?? variable('LISTEN_UDS_MODE')) })
  }
  listeners.push(...systemdListeners(env))
  const needsTls = listeners.some(one => one.kind === 'tls' || (one.kind === 'fd' && one.tls))
  if (needsTls && cert === undefined)
    throw bad('--tls-listen', 'it has no certificate', '--tls-cert and --tls-key')
  const lifecycleUrl = raw.lifecycleUrl ?? variable('LIFECYCLE_URL')
  const connections = raw.maxConnections ?? variable('MAX_CONNECTIONS')
  return {
    listeners,
    tls:
      cert !== undefined && key !== undefined ? { cert: resolve(cwd, cert), key: resolve(cwd, key) } : null,
    tokenFile: resolve(
      cwd,
      raw.authTokenFile ?? variable('AUTH_TOKEN_FILE') ?? join(agent.stateDir, 'serve-tokens'),
    ),
    requireToken: raw.requireToken ?? flag('REQUIRE_TOKEN'),
    allowPlaintext,
    allowHosts: list(raw.allowHost, 'ALLOW_HOST'),
    allowOrigins: list(raw.allowOrigin, 'ALLOW_ORIGIN').map(originOf),
    maxConnections: connections === undefined ? MAX_CONNECTIONS : count('--max-connections', connections),
    idleReleaseMs: seconds(
      '--session-idle-timeout',
      raw.sessionIdleTimeout ?? variable('SESSION_IDLE_TIMEOUT'),
      DEFAULT_IDLE_SECS,
    ),
    drainGraceMs: seconds('--drain-grace', raw.drainGrace ?? variable('DRAIN_GRACE'), 0),
    lifecycle:
      lifecycleUrl === undefined
        ? null
        : lifecycleSink(
            lifecycleUrl,
            raw.lifecycleHeader ?? (variable('LIFECYCLE_HEADER') ?? '').split('\n').filter(Boolean),
            seconds(
              '--lifecycle-heartbeat-secs',
              raw.lifecycleHeartbeatSecs ?? variable('LIFECYCLE_HEARTBEAT_SECS'),
              DEFAULT_HEARTBEAT_SECS,
            ),
          ),
    approve: {
      mode: approveOf(raw.approve ?? variable('APPROVE') ?? 'off'),
      timeoutMs: seconds(
        '--approval-timeout',
        raw.approvalTimeout ?? variable('APPROVAL_TIMEOUT'),
        DEFAULT_APPROVAL_SECS,
      ),
    },
  }
}

const bad = (name: string, reason: string, expected: string) => fail('bad_value', { name, reason, expected })

function addressOf(name: string, text: string, isOpen: boolean): Address {
  const [, host = '', port = ''] = /^(?:\[([^\]]+)\]|[^:]*)(?::(\d{1,5}))$/.exec(text) ?? []
  const plain = host || text.slice(0, text.lastIndexOf(':'))
  const address = { host: plain === 'localhost' ? '127.0.0.1' : plain, port: Number(port) }
  if (port === '' || address.port > 65_535 || isIP(address.host) === 0) {
    throw bad(name, `${JSON.stringify(text)} is no address`, 'IP:PORT, [IPv6]:PORT or localhost:PORT')
  }
  if (!isOpen && !isLoopback(address.host)) throw fail('plaintext', { address: text })
  return address
}

function originOf(text: string): string {
  let origin = 'null'
  try {
    origin = new URL(text).origin
  } catch {
    // said below
  }
  if (origin === text && origin !== 'null') return text
  throw bad('--allow-origin', `${JSON.stringify(text)} is no origin`, 'scheme://host[:port] without a path')
}

function count(name: string, text: string): number {
  const value = Number(text)
  if (Number.isSafeInteger(value) && value >= 1) return value
  throw bad(name, `${JSON.stringify(text)} is no number`, 'a whole number from 1')
}

function modeOf(text = '0600'): number {
  if (/^0?[0-7]{3}$/.test(text)) return Number.parseInt(text, 8)
  throw bad('--listen-uds-mode', `${JSON.stringify(text)} is no mode`, 'octal, as 0600')
}

function approveOf(text: string): ApproveSettings['mode'] {
  if (text === 'off' || text === 'writes' || text === 'all') return text
  const names = text.startsWith('tools:')
    ? text
        .slice('tools:'.length)
        .split(',')
        .map(one => one.trim())
        .filter(one => one !== '')
    : []
  if (names.length > 0) return { tools: names }
  throw bad('--approve', `${JSON.stringify(text)} is no mode`, 'off, writes, all or tools:a,b')
}

/** Somebody else could put a socket of theirs in the place of ours. */
function refuseFolderOfOthers(path: string): void {
  const folder = dirname(path)
  if (!existsSync(folder))
    throw bad('--listen-uds', `there is no folder ${folder}`, 'a path in one that exists')
  const { mode } = lstatSync(folder)
  if ((mode & OTHERS_WRITE) !== 0 && (mode & STICKY) === 0) {
    throw bad('--listen-uds', `others may write ${folder}`, 'a folder that only you may write')
  }
}

/** Descriptors that the service manager has bound (sd_listen_fds(3)); the variables are for this process alone. */
function systemdListeners(env: ProcessWorld['env']): ListenSpec[] {
  const { LISTEN_FDS: fds, LISTEN_PID: pid, LISTEN_FDNAMES: names = '' } = env
  for (const name of ['LISTEN_FDS', 'LISTEN_PID', 'LISTEN_FDNAMES']) delete env[name]
  if (fds === undefined) return []
  if (pid !== String(process.pid)) throw bad('LISTEN_PID', `${pid} is not this process`, String(process.pid))
  const number = Number(fds)
  if (!Number.isSafeInteger(number) || number < 1 || number > MAX_SYSTEMD) {
    throw bad('LISTEN_FDS', `${fds} is not taken`, `1 to ${MAX_SYSTEMD}`)
  }
  const named = names.split(':')
  return Array.from({ length: number }, (_, index) => ({
    kind: 'fd' as const,
    fd: SYSTEMD_FIRST + index,
    tls: named[index] === 'tls',
  }))
}
