/**
 * The two queues of a session: `steer` is said at the next turn, `follow_up` at the next stop (harness.md, Boundaries and
 * lanes). A message is durable before it counts as queued, and leaves by the record that says it: a death in between
 * neither loses nor doubles it (H85).
 */
import {
  type Clock,
  MAX_LANE_BYTES,
  MAX_LANE_MESSAGES,
  newEntryId,
  type QueuedMessage,
  type Random,
  type RecordBody,
  type ResultBlock,
  resultBlock,
  type SessionRecord,
} from '@beige/protocol'
import { arr, compile, obj, oneOf, opt, type Static, str } from '@earendil-works/pi-schema'
import { fail } from '../errors.ts'
import type { Session } from '../session.ts'

export const QUEUED_KIND = 'beige.queued'
export const UNQUEUED_KIND = 'beige.unqueued'

export type LaneName = 'steer' | 'follow_up'
export type LaneMode = 'one_at_a_time' | 'all'

const queued = obj(
  {
    queue_id: str(),
    lane: oneOf(['steer', 'follow_up']),
    content: arr(resultBlock),
    origin: obj({ kind: str(), name: opt(str()) }, { open: true }),
    idempotency_key: opt(str()),
  },
  { open: true },
)
const isQueued = compile(queued).check
const isUnqueued = compile(obj({ queue_id: str() }, { open: true })).check

export type Queued = Static<typeof queued> & { at: number }

export interface Lanes {
  waiting(lane: LaneName): readonly Queued[]
  /** As clients see them. */
  shown(): { steer_queue: QueuedMessage[]; follow_up_queue: QueuedMessage[] }
  /** The message that came with this key, queued or said. */
  byKey(key: string): Queued | undefined
  /** Durable when it resolves. Throws `queue_full`. */
  add(lane: LaneName, message: Omit<Queued, 'at' | 'queue_id' | 'lane'>): Promise<Queued>
  /** False where it is not in a queue (any more). */
  remove(queueId: string): Promise<boolean>
  /** What is due at a boundary between turns, said on the branch. */
  takeAtBoundary(): Promise<readonly Said[]>
  /** What is due where the model has stopped: left-over steers, else follow-ups. */
  takeAtStop(): Promise<readonly Said[]>
  /** Resolves when a steer waits to be heard; rejects when `signal` fires. */
  steered(signal: AbortSignal): Promise<void>
  /** Takes the first of all out, for the prompt record that names it; null where there is none. */
  next(): Queued | null
  /** Looks at records that others appended. */
  catchUp(): void
}

/** A queued message that is now part of the branch. */
export type Said = { entryId: string; recordSeq: number; text: string }

export function createLanes(parts: {
  session: Session
  clock: Clock
  random: Random
  mode(lane: LaneName): LaneMode
  changed(): void
}): Lanes {
  const { session, clock, random, mode, changed } = parts
  const queues: Record<LaneName, Queued[]> = { steer: [], follow_up: [] }
  const keys = new Map<string, Queued>()
  const listening = new Set<() => void>()
  let applied = 0

  /** True when a queue is not what it was. */
  function apply(record: SessionRecord): boolean {
    if (record.type === 'custom' && record.kind === QUEUED_KIND && isQueued(record.data)) {
      const message = { ...record.data, at: record.at }
      queues[message.lane].push(message)
      if (message.idempotency_key !== undefined) keys.set(message.idempotency_key, message)
      return true
    }
    if (record.type === 'custom' && record.kind === UNQUEUED_KIND && isUnqueued(record.data)) {
      return drop(record.data.queue_id)
    }
    const isSaid = record.type === 'message' || record.type === 'prompt'
    return isSaid && record.queued !== undefined && drop(record.queued)
  }

  function drop(queueId: string): boolean {
    const before = queues.steer.length + queues.follow_up.length
    for (const lane of LANES) queues[lane] = queues[lane].filter(one => one.queue_id !== queueId)
    return queues.steer.length + queues.follow_up.length < before
  }

  function catchUp(): void {
    const isFirst = applied === 0
    const changes = session.log.records.slice(applied).filter(apply)
    applied = session.log.records.length
    if (changes.length > 0 && !isFirst) changed()
    if (queues.steer.length > 0) for (const heard of [...listening]) heard()
  }

  async function append(...bodies: RecordBody[]): Promise<readonly SessionRecord[]> {
    const records = await session.append(...bodies)
    catchUp()
    return records
  }

  /** One record for each, in order, each below the one before. */
  async function say(messages: readonly Queued[]): Promise<Said[]> {
    let parent: string | null = session.state().leaf
    const bodies = messages.map((message): RecordBody => {
      const id = newEntryId(clock, random)
      const body = {
        ...({ type: 'message', id, parent_id: parent, role: 'user', content: message.content } as const),
        queued: message.queue_id,
      }
      parent = id
      return body
    })
    if (bodies.length === 0) return []
    const records = await append(...bodies)
    return records.map((record, index) => ({
      entryId: record.type === 'message' ? record.id : '',
      recordSeq: record.seq,
      text: textOf(messages[index]?.content ?? []),
    }))
  }

  const due = (lane: LaneName) => (mode(lane) === 'all' ? queues[lane] : queues[lane].slice(0, 1))

  catchUp()
  return {
    waiting: lane => queues[lane],
    shown: () => ({ steer_queue: queues.steer.map(shown), follow_up_queue: queues.follow_up.map(shown) }),
    byKey: key => keys.get(key),
    add: async (lane, message) => {
      const bytes = [...queues[lane], message].reduce((sum, one) => sum + bytesOf(one.content), 0)
      if (queues[lane].length >= MAX_LANE_MESSAGES || bytes > MAX_LANE_BYTES)
        throw fail('queue_full', { lane })
      const data = { queue_id: newEntryId(clock, random), lane, ...message }
      await append({ type: 'custom', kind: QUEUED_KIND, data })
      return { ...data, at: clock.now() }
    },
    remove: async queueId => {
      if (!LANES.some(lane => queues[lane].some(one => one.queue_id === queueId))) return false
      await append({ type: 'custom', kind: UNQUEUED_KIND, data: { queue_id: queueId } })
      return true
    },
    takeAtBoundary: () => say(due('steer')),
    takeAtStop: () => say(queues.steer.length > 0 ? queues.steer : due('follow_up')),
    steered: signal =>
      new Promise((resolve, reject) => {
        if (queues.steer.length > 0) return resolve()
        if (signal.aborted) return reject(signal.reason)
        const over = (how: () => void) => () => {
          listening.delete(heard)
          signal.removeEventListener('abort', stop)
          how()
        }
        const heard = over(resolve)
        const stop = over(() => reject(signal.reason))
        listening.add(heard)
        signal.addEventListener('abort', stop, { once: true })
      }),
    next: () => queues.steer[0] ?? queues.follow_up[0] ?? null,
    catchUp,
  }
}

const LANES = ['steer', 'follow_up'] as const

function shown({ queue_id, content, at }: Queued): QueuedMessage {
  const images = content.filter(block => block.type === 'image').length
  return { queue_id, message: textOf(content), images, queued_at: at }
}

function textOf(content: readonly ResultBlock[]): string {
  return content.map(block => (block.type === 'text' ? block.text : '')).join('')
}

function bytesOf(content: readonly ResultBlock[]): number {
  return content.reduce(
    (sum, block) => sum + (block.type === 'text' ? Buffer.byteLength(block.text) : block.data.length),
    0,
  )
}
