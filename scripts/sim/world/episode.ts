/**
 * A small world from its beginning to its end: three replicas, sessions with clients, trouble; then everything is healed, the
 * power goes once more, and what is left is held against what was told.
 */
import type { SessionId, SessionRecord } from '@beige/protocol'
import { isSessionId } from '@beige/protocol'
import { createFilesStore, createMemoryStore, createMemoryVault } from '@beige/sessions'
import { checkSession, type Violation } from '../../session-proof/check-session.ts'
import type { Told } from '../../session-proof/told.ts'
import { createDice } from './dice.ts'
import { createFaults, type FaultCounts, noFaults, type Slot } from './faults.ts'
import { createProcessDisk } from './process-disk.ts'
import { type Plant, ROOT, startReplica } from './replica.ts'
import { createScheduler } from './scheduler.ts'
import { startClient } from './sim-client.ts'
import { createSimDisk } from './sim-disk.ts'
import { createSimEndpoint } from './sim-endpoint.ts'
import { createSimProcess } from './sim-process.ts'
import { createTrace } from './trace.ts'

export type EpisodeParts = {
  seed: number
  number: number
  turns: number
  store: 'files' | 'memory'
  plant: Plant
  print: ((line: string) => void) | null
}

export type EpisodeResult = {
  turns: number
  violations: readonly Violation[]
  /** What is wrong beside that: an answer that no client should get, a client that was never answered. */
  unexpected: readonly string[]
  faults: FaultCounts
  clients: { aborts: number; duplicates: number; retries: number }
  takeovers: number
  effects: number
  traceHash: string
  events: number
}

const REPLICAS = ['a', 'b', 'c']
const ANSWER_MS = 20_000
const LIVE_SESSIONS = 6
const SETTLE_MS = 30_000
const CALM_MS = 3_600_000 // of simulated time; nothing takes as long

/** Rejects when an event throws, or nothing is left that could happen. */
export async function runEpisode(parts: EpisodeParts): Promise<EpisodeResult> {
  const trace = createTrace(parts.print)
  const scheduler = createScheduler(trace)
  const dice = createDice(parts.seed * 0x1_0001 + parts.number)
  const disk = createSimDisk()
  const endpoint = createSimEndpoint(scheduler)
  const vault = parts.store === 'memory' ? createMemoryVault() : null
  const counts = noFaults()
  const clients = { aborts: 0, duplicates: 0, retries: 0 }
  const network = { isCut: false }
  const unexpected: string[] = []
  const told = new Map<SessionId, Told[]>()
  const slots: Slot[] = REPLICAS.map(name => ({ name, replica: null, isStopping: false }))
  let incarnations = 0
  let turnsGiven = 0
  let turnsEnded = 0
  let liveSessions = 0

  disk.makeDirectory(ROOT)
  disk.syncDirectory('/')

  const note = (session: SessionId, one: Told) => {
    told.get(session)?.push(one)
    trace.note(`${session} ${JSON.stringify(one)}`)
  }

  function start(slot: Slot): void {
    const process = createSimProcess(scheduler, `${slot.name}${++incarnations}`)
    slot.replica = startReplica({
      ...{ process, scheduler, dice: dice.fork(), disk, vault, endpoint, plant: parts.plant },
      trouble: {
        failed: kind => {
          counts[kind]++
        },
        torn: () => {
          counts['torn write']++
        },
      },
      asked: (session, keys) => {
        if (isSessionId(session)) note(session, { kind: 'asked', keys, atMs: scheduler.now })
      },
    })
  }

  function startSession(): void {
    const turns = Math.min(parts.turns - turnsGiven, 6 + dice.below(20))
    if (turns <= 0) return
    const id = `s_${told.size + 1}`
    if (!isSessionId(id)) return
    turnsGiven += turns
    liveSessions++
    told.set(id, [])
    const first = turns < 2 || dice.chance(0.5) ? turns : Math.ceil(turns / 2)
    const shares = first === turns ? [turns] : [first, turns - first]
    let working = shares.length
    for (const [index, share] of shares.entries()) {
      startClient({
        ...{ name: `${id}.c${index}`, session: id, turns: share, scheduler, dice: dice.fork() },
        answerMs: ANSWER_MS,
        replicas: () => slots.flatMap(({ replica, isStopping }) => (replica && !isStopping ? [replica] : [])),
        told: one => note(id, one),
        isCut: () => network.isCut,
        counts: clients,
        unexpected: text => unexpected.push(text),
        turnEnded: () => turnsEnded++,
        ended() {
          if (--working > 0) return
          liveSessions--
          startSession()
        },
      })
    }
  }

  const faults = createFaults({
    ...{ scheduler, dice: dice.fork(), disk, endpoint, slots, counts, start, clients: network },
  })
  for (const slot of slots) start(slot)
  for (let session = 0; session < LIVE_SESSIONS; session++) startSession()
  faults.begin()
  const limit = () => {
    if (scheduler.now > CALM_MS) unexpected.push('clients are still waiting after an hour')
    return unexpected.length > 0
  }
  await scheduler.run(() => liveSessions === 0 || limit())
  faults.end()
  await until(scheduler.now + SETTLE_MS)
  faults.powerLoss()
  for (const slot of slots) slot.replica?.process.kill(() => 1)

  const violations: Violation[] = []
  let takeovers = 0
  for (const [id, facts] of told) {
    const { epoch, records } = (await readLeft(id)) ?? { epoch: 1, records: [] }
    takeovers += epoch - 1
    const evidence = { id, told: facts, records, ledger: endpoint.ledger }
    const found = checkSession(evidence)
    // What the trace is read for.
    if (found.length > 0) for (const record of records) parts.print?.(JSON.stringify(record))
    violations.push(...found)
  }
  return {
    turns: turnsEnded,
    violations,
    unexpected,
    faults: counts,
    clients,
    takeovers,
    effects: endpoint.ledger.length,
    traceHash: trace.hash,
    events: trace.events,
  }

  async function until(ms: number): Promise<void> {
    let isOver = false
    scheduler.after(ms - scheduler.now, 'the end of a wait', () => {
      isOver = true
    })
    await scheduler.run(() => isOver)
  }

  /** What a process of another day makes of it. */
  async function readLeft(
    id: SessionId,
  ): Promise<{ epoch: number; records: readonly SessionRecord[] } | null> {
    const process = createSimProcess(scheduler, `auditor${++incarnations}`)
    const { clock, ticker } = process
    const random = dice.fork()
    const trouble = {
      ...{ stallMs: 0, failing: { write: 0, sync: 0, read: 0 } },
      ...{ failed: () => {}, torn: () => {} },
    }
    const store = vault
      ? createMemoryStore({ clock, random, ticker, vault })
      : createFilesStore({
          ...{ root: ROOT, clock, random, ticker },
          disk: createProcessDisk(disk, process, dice.fork(), trouble),
        })
    let answer: { epoch: number; records: readonly SessionRecord[] } | Error | null = null
    store.open(id).then(
      log => {
        answer = log
      },
      (error: unknown) => {
        answer = error instanceof Error ? error : new Error(String(error))
      },
    )
    await scheduler.run(() => answer !== null)
    process.kill(() => 1)
    const opened: unknown = answer
    if (opened instanceof Error) {
      trace.note(`${id} does not open: ${opened.message}`)
      return null
    }
    return answer
  }
}
