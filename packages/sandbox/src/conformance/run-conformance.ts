/**
 * Runs the kit on an endpoint: every check by itself, bounded in time, with an outcome of its own.
 *
 * @example
 * const report = await runConformance({ endpoint: { kind: 'url', url: 'http://127.0.0.1:8080', headers: {} } })
 * process.exitCode = report.failed === 0 ? 0 : 1
 */
import {
  type Clock,
  type ExecHealth,
  execHealth,
  isError,
  messageOf,
  type Random,
  systemClock,
  systemRandom,
} from '@beige/protocol'
import { compile } from '@earendil-works/pi-schema'
import { fail } from '../errors.ts'
import type { ExecEndpoint } from '../exec-client.ts'
import { makeBench } from './bench.ts'
import type { Check } from './check.ts'
import { allChecks } from './checks/all-checks.ts'
import { newName } from './names.ts'
import { type NotifyPlace, type NotifyReceiver, notifyReceiver } from './notify-receiver.ts'
import { makeWorkplace, removeWorkplace, type Workplace, type WorkplaceWish } from './programs.ts'
import { type RawHttp, rawHttp } from './raw-http.ts'

const CHECK_MS = 60_000
const SETUP_MS = 30_000
const CLEAN_UP_MS = 10_000
const AT_ONCE = 4

export type CheckResult = { name: string; ms: number } & (
  | { outcome: 'ok' }
  | { outcome: 'failed' | 'skipped'; reason: string }
)
export type ConformanceReport = {
  protocol: 'exec/2'
  /** Without credentials. */
  endpoint: string
  health: ExecHealth | null
  passed: number
  failed: number
  skipped: number
  ms: number
  checks: readonly CheckResult[]
}

export type ConformanceOptions = {
  endpoint: ExecEndpoint
  /** Told as each check is over, in the order of the list. */
  onResult?: (result: CheckResult) => void
  /** Only these checks, by name. */
  only?: readonly string[]
  /** A static multi-call program (busybox), for an endpoint that has no shell; needs its feature `files`. */
  programs?: Uint8Array
  /** Where the kit makes its folder at the endpoint; absent: where commands start. */
  folder?: string
  /** Absent: a loopback port, where the endpoint can be taken to reach one. */
  notify?: NotifyPlace | 'unreachable'
  /** Where the endpoint keeps its token: with it, that commands can not read it is checked. */
  tokenFile?: string
  /** Checks at once; 4 unless given. */
  atOnce?: number
  /** Multiplies every limit of time, for a slow way to the endpoint. */
  patience?: number
  clock?: Clock
  random?: Random
  signal?: AbortSignal
}

/** Rejects only where there is nothing to check: no endpoint answers, or it was aborted. */
export async function runConformance(options: ConformanceOptions): Promise<ConformanceReport> {
  const { clock = systemClock, random = systemRandom, patience = 1 } = options
  const http = rawHttp(options.endpoint)
  const sinceMs = clock.monotonic()
  const within = <T>(ms: number, act: (signal: AbortSignal) => Promise<T>) =>
    bounded(clock, ms * patience, options.signal, act)
  const health = await within(SETUP_MS, signal => askHealth(http, signal))
  const wish = {
    http,
    hasFiles: health?.features.includes('files') ?? false,
    name: `.exec-conformance-${newName(random)}`,
    ...(options.folder ? { parent: options.folder } : {}),
    ...(options.programs ? { carried: options.programs } : {}),
  }
  const workplace = await within(SETUP_MS, signal => makeWorkplace({ ...wish, signal }))
  const receiver = await openReceiver(
    options.notify ?? (http.isNear ? LOOPBACK : 'unreachable'),
    clock,
    random,
  )
  try {
    const setting = { options, http, health, workplace, receiver, clock, random, patience }
    const checks = await runAll(setting)
    const count = (outcome: CheckResult['outcome']) => checks.filter(one => one.outcome === outcome).length
    return {
      protocol: 'exec/2',
      endpoint: http.name,
      health,
      passed: count('ok'),
      failed: count('failed'),
      skipped: count('skipped'),
      ms: Math.round(clock.monotonic() - sinceMs),
      checks,
    }
  } finally {
    receiver?.close()
    await within(CLEAN_UP_MS, signal => tidy(workplace, { ...wish, signal }))
  }
}

const LOOPBACK: NotifyPlace = { listen: { host: '127.0.0.1', port: 0 } }

async function openReceiver(place: NotifyPlace | 'unreachable', clock: Clock, random: Random) {
  return place === 'unreachable' ? null : await notifyReceiver(place, random, () => clock.monotonic())
}

type Setting = {
  options: ConformanceOptions
  http: RawHttp
  health: ExecHealth | null
  workplace: Workplace
  receiver: NotifyReceiver | null
  clock: Clock
  random: Random
  patience: number
}

/** Long ones first, each other as a place is free, and at last, one by one, those that must be alone. */
async function runAll(setting: Setting): Promise<CheckResult[]> {
  const { options, clock } = setting
  const checks = allChecks.filter(check => options.only?.includes(check.name) ?? true)
  const results = new Map<Check, CheckResult>()
  let told = 0
  const tell = () => {
    for (let check = checks[told]; check; check = checks[++told]) {
      const result = results.get(check)
      if (!result) return
      options.onResult?.(result)
    }
  }
  const runOne = async (check: Check) => {
    options.signal?.throwIfAborted()
    const sinceMs = clock.monotonic()
    const outcome = await outcomeOf(check, setting)
    options.signal?.throwIfAborted()
    results.set(check, { name: check.name, ms: Math.round(clock.monotonic() - sinceMs), ...outcome })
    tell()
  }
  const together = checks.filter(check => !check.isAlone)
  const queue = [...together.filter(check => check.isLong), ...together.filter(check => !check.isLong)]
  const worker = async () => {
    for (let check = queue.shift(); check; check = queue.shift()) await runOne(check)
  }
  await Promise.all(Array.from({ length: options.atOnce ?? AT_ONCE }, worker))
  for (const check of checks) if (check.isAlone) await runOne(check)
  return checks.flatMap(check => results.get(check) ?? [])
}

type Outcome = { outcome: 'ok' } | { outcome: 'failed' | 'skipped'; reason: string }

async function outcomeOf(check: Check, setting: Setting): Promise<Outcome> {
  const { http, health, workplace, receiver, clock, random, options, patience } = setting
  const lacking = missing(check, health, workplace)
  if (lacking !== null) return { outcome: 'skipped', reason: lacking }
  const mailbox = receiver && (() => receiver.mailbox())
  const tokenFile = options.tokenFile ?? null
  const makings = { http, health, clock, random, workplace, tokenFile, mailbox, patience }
  const limitMs = (check.limitMs ?? CHECK_MS) * patience
  const cleanUps: ((signal: AbortSignal) => Promise<void>)[] = []
  try {
    await bounded(clock, limitMs, options.signal, async signal => {
      const bench = makeBench({ ...makings, signal })
      cleanUps.push(bench.cleanUp)
      await check.run(bench)
    })
    return { outcome: 'ok' }
  } catch (error) {
    const reason = oneLine(messageOf(error))
    return { outcome: isError(error, 'check_skipped') ? 'skipped' : 'failed', reason }
  } finally {
    for (const cleanUp of cleanUps) {
      // Who can not clean up fails where that is checked, and not here again.
      await bounded(clock, CLEAN_UP_MS, options.signal, cleanUp).catch(() => undefined)
    }
  }
}

function missing(check: Check, health: ExecHealth | null, { programs }: Workplace): string | null {
  for (const feature of check.features ?? []) {
    if (health === null) return `no /health, so no feature "${feature}"`
    if (!health.features.includes(feature)) return `no feature "${feature}" in /health`
  }
  if (programs === null) return null // so wrong that it must show
  const absent = (check.programs ?? []).filter(name => !programs.has(name))
  return absent.length > 0 ? `the endpoint has no program ${absent.join(', ')}` : null
}

/** Runs `act` with a signal that fires at its limit; does not wait for one that ignores it. */
async function bounded<T>(
  clock: Clock,
  limitMs: number,
  outer: AbortSignal | undefined,
  act: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const limit = new AbortController()
  const over = new AbortController()
  const late = fail('check_failed', { reason: `not over after ${limitMs} ms` })
  const stop = () => limit.abort(outer?.reason)
  outer?.addEventListener('abort', stop, { once: true })
  if (outer?.aborted) stop()
  const tooLate = clock.sleep(limitMs, over.signal).then(
    () => limit.abort(late),
    () => undefined,
  )
  const aborted = new Promise<never>((_resolve, reject) => {
    // A moment later, so that what failed because of it can say what it waited for.
    const give = () => void clock.sleep(GIVE_UP_MS).then(() => reject(limit.signal.reason))
    limit.signal.addEventListener('abort', give, { once: true })
  })
  aborted.catch(() => undefined)
  try {
    return await Promise.race([act(limit.signal), aborted])
  } catch (error) {
    if (!limit.signal.aborted) throw error
    if (outer?.aborted || !isError(error, 'check_failed') || error === late) throw limit.signal.reason
    throw fail('check_failed', { reason: `${late.message}: ${error.message}` }, error)
  } finally {
    outer?.removeEventListener('abort', stop)
    over.abort()
    await tooLate
  }
}
const GIVE_UP_MS = 100

const isHealth = compile(execHealth).check

/** Null where there is none, or a wrong one: that is for a check to say. */
async function askHealth(http: RawHttp, signal: AbortSignal): Promise<ExecHealth | null> {
  try {
    const reply = await http.send({ method: 'GET', path: '/health' }, signal)
    const health: unknown = reply.status === 200 ? JSON.parse(reply.body.toString()) : null
    return isHealth(health) ? health : null
  } catch (error) {
    if (!isError(error, 'check_failed')) return null
    throw fail('endpoint_unreachable', { endpoint: http.name, reason: String(error.data.reason) }, error)
  }
}

async function tidy(workplace: Workplace, wish: WorkplaceWish): Promise<void> {
  await removeWorkplace(workplace, wish).catch(() => undefined) // the endpoint may be gone by now
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}
