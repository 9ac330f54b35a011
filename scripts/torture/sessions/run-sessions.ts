/** Three replica processes, clients that want answers, and what is done to them; then what was told is held against what is left. */
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isSessionId, messageOf, type SessionId, systemClock } from '@beige/protocol'
import { findExecd } from '@beige/sandbox'
import { checkSession, type Violation } from '../../session-proof/check-session.ts'
import type { LedgerLine, Told } from '../../session-proof/told.ts'
import { createDice } from '../../sim/world/dice.ts'
import { startClient } from '../../sim/world/sim-client.ts'
import { filesPlace, type Place, postgresPlace } from './places.ts'
import { type ReplicaLink, startReplicaProcess } from './replica-link.ts'
import { createTakeoverWatch, type TakeoverTimes } from './takeover-watch.ts'

export type SessionsTorture = {
  repository: string
  seed: number
  seconds: number
  store: 'files' | 'postgres'
  say: (text: string) => void
  signal: AbortSignal
}

export type SessionsResult = {
  turns: number
  violations: readonly Violation[]
  unexpected: readonly string[]
  troubles: ReadonlyMap<string, number>
  takeovers: TakeoverTimes
  effects: number
}

const REPLICAS = 3
const LIVE_SESSIONS = 6
const ANSWER_MS = 8000
const SETTLE_MS = 6000 // the longest command is 2.5 s, and its end is told
const LAST_ANSWER_MS = 60_000

type Slot = { number: number; replica: ReplicaLink | null; isHurt: boolean }

export async function tortureSessions(options: SessionsTorture): Promise<SessionsResult> {
  const { seed, seconds, say, signal } = options
  const dice = createDice(seed)
  await using place = await openPlace(options)
  await using execd = await startExecd()
  const troubles = new Map<string, number>()
  const unexpected: string[] = []
  const told = new Map<SessionId, Told[]>()
  const slots: Slot[] = Array.from({ length: REPLICAS }, (_, number) => ({
    number,
    replica: null,
    isHurt: false,
  }))
  const watch = createTakeoverWatch(() => performance.now())
  let incarnations = 0
  let turns = 0
  let live = 0
  let isEnding = false

  const able = () => slots.flatMap(({ replica, isHurt }) => (replica && !isHurt ? [replica] : []))

  function start(slot: Slot): Promise<void> {
    const up = Promise.withResolvers<void>()
    const name = `r${slot.number}.${++incarnations}`
    const link = startReplicaProcess(
      {
        ...{ name, seed: seed + incarnations, store: place.storeOf(slot.number) },
        ...{ execSocket: execd.socketPath, ledger: execd.ledger },
      },
      {
        up() {
          slot.replica = link
          slot.isHurt = false
          up.resolve()
        },
        opened: (session, epoch) => watch.opened(session, link.pid, epoch),
        refused: session => {
          if (watch.isAwaited(session)) later(30, () => knock(session))
        },
        asked(session, keys) {
          if (isSessionId(session)) told.get(session)?.push({ kind: 'asked', keys, atMs: performance.now() })
        },
        releasing(session) {
          if (watch.releasing(session, link.pid)) knock(session)
        },
        exited() {
          up.resolve()
          if (slot.replica === link) slot.replica = null
        },
      },
      say,
    )
    return up.promise
  }

  /** Somebody wants the session, so that how long it is without an owner can be seen. */
  function knock(session: SessionId): void {
    const [one] = able().toSorted(() => dice.next() - 0.5)
    if (one) one.open(session)
    else later(30, () => knock(session))
  }

  async function killed(slot: Slot, replica: ReplicaLink): Promise<void> {
    slot.isHurt = true
    for (const session of watch.lost(replica.pid, 'kill')) knock(session)
    replica.signal('SIGKILL')
    await replica.exited
    await start(slot)
  }

  async function stopped(slot: Slot, replica: ReplicaLink, ms: number): Promise<void> {
    slot.isHurt = true
    // Without a network the owner that stands still is the one that is cut off.
    const kind = place.cut ? null : 'cut'
    replica.signal('SIGSTOP')
    for (const session of watch.lost(replica.pid, kind)) knock(session)
    await pause(ms)
    replica.signal('SIGCONT')
    slot.isHurt = false
  }

  async function released(slot: Slot, replica: ReplicaLink): Promise<void> {
    slot.isHurt = true
    watch.leaving(replica.pid)
    replica.signal('SIGTERM')
    await Promise.race([replica.exited, pause(STOP_MS)])
    replica.signal('SIGKILL')
    await replica.exited
    await start(slot)
  }

  async function cutOff(slot: Slot, replica: ReplicaLink, ms: number): Promise<void> {
    slot.isHurt = true
    for (const session of watch.lost(replica.pid, 'cut')) knock(session)
    await place.cut?.(slot.number, ms)
    slot.isHurt = false
  }

  const hurts: readonly (readonly [string, (slot: Slot, replica: ReplicaLink) => Promise<void>])[] = [
    ['kill -9', killed],
    ['kill -9', killed],
    ['SIGSTOP past the lease', (slot, replica) => stopped(slot, replica, dice.between(4500, 7000))],
    ['graceful stop', released],
    ...(place.cut
      ? [
          [
            'cut',
            (slot: Slot, replica: ReplicaLink) => cutOff(slot, replica, dice.between(5000, 7000)),
          ] as const,
        ]
      : []),
    ...Object.entries(place.troubles).map(
      ([name, trouble]) =>
        [name, () => trouble(dice.between(500, 2500)).then(() => watch.disturbed())] as const,
    ),
  ]

  async function hurt(): Promise<void> {
    while (!isEnding && !signal.aborted) {
      await pause(dice.between(300, 2500))
      // One at least is left that can take over.
      const whole = slots.filter(slot => slot.replica && !slot.isHurt)
      if (isEnding || whole.length < 2) continue
      const slot = dice.pick(whole)
      const [name, action] = dice.pick(hurts)
      if (!slot.replica) continue
      troubles.set(name, (troubles.get(name) ?? 0) + 1)
      await action(slot, slot.replica)
    }
  }

  function startSession(): void {
    const id = `s_${told.size + 1}`
    if (isEnding || !isSessionId(id)) return
    live++
    told.set(id, [])
    startClient({
      ...{ name: `${id}.c0`, session: id, turns: 6 + dice.below(20), dice: dice.fork() },
      answerMs: ANSWER_MS,
      scheduler: {
        get now() {
          return performance.now()
        },
        after(delayMs, _name, run) {
          const timer = setTimeout(run, delayMs)
          return () => clearTimeout(timer)
        },
      },
      replicas: able,
      told: one => told.get(id)?.push(one),
      isCut: () => false,
      counts: { aborts: 0, duplicates: 0, retries: 0 },
      unexpected: text => unexpected.push(text),
      isOver: () => isEnding,
      turnEnded: () => turns++,
      ended() {
        live--
        startSession()
      },
    })
  }

  await Promise.all(slots.map(start))
  for (let one = 0; one < LIVE_SESSIONS; one++) startSession()
  const hurting = [hurt(), hurt()]
  await Promise.race([pause(seconds * 1000), aborted(signal)])
  isEnding = true
  await Promise.all(hurting)
  const deadline = performance.now() + LAST_ANSWER_MS
  while (live > 0 && performance.now() < deadline) await pause(50)
  if (live > 0)
    unexpected.push(`${live} clients had no answer ${LAST_ANSWER_MS / 1000} s after the last trouble`)
  await pause(SETTLE_MS)
  for (const { replica } of slots) replica?.signal('SIGKILL')
  await Promise.all(slots.map(slot => slot.replica?.exited))
  const ledger = readLedger(execd.ledger)
  const violations = await audit(place, told, ledger)
  return { turns, violations, unexpected, troubles, takeovers: watch.times(), effects: ledger.length }
}

const STOP_MS = 15_000
const pause = (ms: number): Promise<void> => systemClock.sleep(ms)
const later = (ms: number, run: () => void): void => void setTimeout(run, ms)

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise(resolve => signal.addEventListener('abort', () => resolve(), { once: true }))
}

function openPlace({ store, repository, say }: SessionsTorture): Promise<Place> {
  return store === 'files' ? filesPlace(say) : postgresPlace(repository, REPLICAS)
}

/** By a process of another day, which waits until every owner counts as dead. */
async function audit(
  place: Place,
  told: ReadonlyMap<SessionId, readonly Told[]>,
  ledger: readonly LedgerLine[],
): Promise<Violation[]> {
  const store = place.auditor()
  const violations: Violation[] = []
  try {
    for (const [id, facts] of told) {
      const own = ledger.filter(line => line.scope === id)
      try {
        const { records } = await store.open(id)
        violations.push(...checkSession({ id, told: facts, records, ledger: own }))
      } catch (error) {
        const isUsed = facts.some(one => one.kind !== 'sent')
        if (isUsed)
          violations.push({ kind: 'lost', session: id, says: `it does not open: ${messageOf(error)}` })
      }
    }
  } finally {
    await store.close()
  }
  return violations
}

/** Tokens begin with the session's id. */
function readLedger(path: string): LedgerLine[] {
  if (!existsSync(path)) return []
  return readFileSync(path, 'utf8')
    .split('\n')
    .filter(line => line !== '')
    .map(line => {
      const [number = '', token = ''] = line.split(' ')
      return {
        number: Number(number),
        scope: token.split('.')[0] ?? '',
        token,
        job: null,
        atMs: Number(number) / 1000,
      }
    })
}

async function startExecd(): Promise<AsyncDisposable & { socketPath: string; ledger: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'beige-torture-exec-'))
  const socketPath = join(folder, 'exec.sock')
  const env = {
    PATH: process.env.PATH ?? '/usr/bin:/bin',
    EXECD_LISTEN: `unix:${socketPath}`,
    EXECD_ROOT: folder,
  }
  const child = spawn(findExecd(), [], { env, stdio: ['ignore', 'ignore', 'inherit'] })
  const ended = new Promise<void>(resolve => child.once('exit', () => resolve()))
  while (!existsSync(socketPath) && child.exitCode === null) await pause(5)
  return {
    socketPath,
    ledger: join(folder, 'ledger'),
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM')
      await ended
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
