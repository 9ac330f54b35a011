/**
 * A client of one session: sends prompts with keys, each until it has its final response, to whichever replica takes it, and
 * keeps what it was told.
 */
import type { Viewer } from '@beige/host'
import type { Frame, SessionId } from '@beige/protocol'
import type { Told } from '../../session-proof/told.ts'
import type { Dice } from './dice.ts'
import type { Scheduler } from './scheduler.ts'
import type { SimProcess } from './sim-process.ts'

/** A replica as a client reaches it. */
export type Served = {
  process: Pick<SimProcess, 'after'>
  take(id: SessionId, command: { type: string; id: string }, viewer: Viewer): void
}

export type ClientParts = {
  name: string
  session: SessionId
  turns: number
  scheduler: Pick<Scheduler, 'now' | 'after'>
  /** After so long without a final response it asks another replica. */
  answerMs: number
  dice: Dice
  /** Those that are there now. */
  replicas(): readonly Served[]
  told(one: Told): void
  /** Its network is broken at the moment: what it sends or is sent is lost. */
  isCut(): boolean
  counts: { aborts: number; duplicates: number; retries: number }
  /** An answer that no client should ever get. */
  unexpected(text: string): void
  /** No further prompt is sent once it is true. */
  isOver?(): boolean
  turnEnded(): void
  ended(): void
}

type Outcome = { kind: 'final' } | { kind: 'again'; elsewhere: boolean }
type Connection = { replica: Served; viewer: Viewer; answered: Map<string, (outcome: Outcome) => void> }

const MAX_TRIES = 400

/** Codes that say: try again, here or with another replica. */
const AGAIN: ReadonlyMap<string, boolean> = new Map([
  ['busy', false],
  ['unavailable', true],
  ['superseded', true],
  ['storage', true],
])

export function startClient(parts: ClientParts): void {
  const { name, session, scheduler, dice, counts } = parts
  const connections = new Map<Served, Connection>()
  const keys = new Map<string, string>()
  let commands = 0
  let home: Served | null = null

  const sleep = (ms: number) => new Promise<void>(resolve => scheduler.after(ms, `${name} waits`, resolve))

  function connectionTo(replica: Served): Connection {
    const known = connections.get(replica)
    if (known) return known
    const inbox: Frame[] = []
    const made: Connection = {
      replica,
      answered: new Map(),
      viewer: {
        origin: { kind: 'client', name },
        send(frame) {
          if (!isKept(frame)) return
          inbox.push(frame)
          if (inbox.length > 1) return
          scheduler.after(dice.between(0.1, 2), `${name} hears`, () => {
            for (const one of inbox.splice(0)) if (!parts.isCut()) heard(made, one)
          })
        },
      },
    }
    connections.set(replica, made)
    return made
  }

  function heard(connection: Connection, frame: Frame): void {
    const atMs = scheduler.now
    if (frame.type === 'event') {
      const { event } = frame
      if (event.kind === 'committed') {
        const { entry_id: id, role, record_seq: seq } = event
        parts.told({ kind: 'committed', id, role, seq, epoch: Math.floor(frame.seq / 2 ** 32), atMs })
      } else if (event.kind === 'tool_end') {
        const { id: callId, outcome, is_error: isError } = event
        const text = event.result.map(block => (block.type === 'text' ? block.text : '')).join('\n')
        parts.told({ kind: 'tool', callId, name: event.name, outcome, isError, text, atMs })
      }
      return
    }
    if (frame.type !== 'ack' && frame.type !== 'response') return
    const key = keys.get(frame.id ?? '')
    if (key === undefined) return
    if (frame.type === 'ack') {
      parts.told({ kind: 'acked', key, runId: frame.run_id ?? '', atMs })
      return
    }
    const answered = connection.answered.get(frame.id ?? '')
    connection.answered.delete(frame.id ?? '')
    const { run_id: runId, outcome, text } = frame.data ?? {}
    if (typeof runId === 'string' && typeof outcome === 'string') {
      parts.told({ kind: 'ended', key, runId, outcome, text: String(text ?? ''), atMs })
      answered?.({ kind: 'final' })
      return
    }
    const elsewhere = AGAIN.get(frame.code ?? '')
    if (elsewhere === undefined) parts.unexpected(`${name}: ${frame.code} ${frame.error}`)
    answered?.({ kind: 'again', elsewhere: elsewhere ?? true })
  }

  function send(connection: Connection, command: { type: string; id: string }): void {
    if (parts.isCut()) return
    scheduler.after(dice.between(0.1, 2), `${name} sends`, () =>
      connection.replica.process.after(0, 'takes a command', () =>
        connection.replica.take(session, command, connection.viewer),
      ),
    )
  }

  function attempt(replica: Served, key: string, message: string): Promise<Outcome> {
    const connection = connectionTo(replica)
    const id = `${name}/${++commands}`
    keys.set(id, key)
    return new Promise(resolve => {
      const cancel = scheduler.after(parts.answerMs, `${name} gives up`, () => {
        connection.answered.delete(id)
        resolve({ kind: 'again', elsewhere: true })
      })
      connection.answered.set(id, outcome => {
        cancel()
        resolve(outcome)
      })
      send(connection, { type: 'prompt', id, ...{ message, idempotency_key: key } })
      if (dice.chance(0.03)) {
        counts.aborts++
        scheduler.after(dice.between(1, 200), `${name} aborts`, () =>
          send(connection, { type: 'abort', id: `${id}/abort` }),
        )
      }
    })
  }

  function choose(isElsewhere: boolean): Served | null {
    const there = parts.replicas()
    for (const replica of connections.keys()) if (!there.includes(replica)) connections.delete(replica)
    if (there.length === 0) return null
    if (isElsewhere || !home || !there.includes(home)) home = dice.pick(there)
    return home
  }

  async function prompt(key: string, message: string): Promise<void> {
    parts.told({ kind: 'sent', key, atMs: scheduler.now })
    let elsewhere = false
    for (let tries = 1; ; tries++) {
      const replica = choose(elsewhere)
      if (replica) {
        const other = dice.chance(0.02) ? dice.pick(parts.replicas()) : null
        if (other && other !== replica) {
          counts.duplicates++
          void attempt(other, key, message)
        }
        const outcome = await attempt(replica, key, message)
        if (outcome.kind === 'final') return
        ;({ elsewhere } = outcome)
        counts.retries++
      }
      if (tries === MAX_TRIES) throw new Error(`${name}: ${key} has no answer after ${tries} tries`)
      await sleep(dice.between(20, 400))
    }
  }

  async function work(): Promise<void> {
    for (let turn = 0; turn < parts.turns && !parts.isOver?.(); turn++) {
      const key = `${name}.${turn}`
      const message = `task ${key} ${dice.below(2 ** 31)}`
      await prompt(key, message)
      parts.turnEnded()
      if (dice.chance(0.05)) {
        counts.duplicates++
        await prompt(key, message)
      }
      if (dice.chance(0.2)) await sleep(dice.between(1, 500))
    }
    parts.ended()
  }
  work().catch((error: unknown) => parts.unexpected(error instanceof Error ? error.message : String(error)))
}

function isKept(frame: Frame): boolean {
  if (frame.type === 'ack' || frame.type === 'response') return true
  return frame.type === 'event' && (frame.event.kind === 'committed' || frame.event.kind === 'tool_end')
}
