/** A session open for writing, the same for every store: a store only says how a batch of lines becomes durable. */
import {
  type Clock,
  isError,
  type RecordBody,
  SESSION_VERSION,
  type SessionId,
  type SessionRecord,
} from '@beige/protocol'
import { createAppendQueue, type QueuedBody } from './append-queue.ts'
import { fail } from './errors.ts'
import { type EncodedRecord, type PreparedBody, prepareBody } from './record-line.ts'
import type { SessionLines } from './session-lines.ts'
import type { Damage, SessionLog } from './store.ts'

/** What a store does for one owned session. */
export interface LogBackend {
  /** May grow inside `commit`: a failed write ends a segment, and its owner goes on in the next epoch. */
  readonly epoch: number
  /**
   * Makes the lines durable and checks the fence. `encode` may be asked again, for another epoch. Rejects with
   * `storage` (nothing of it is durable, a later try may succeed), or for ever with `session_superseded`,
   * `outcome_unknown` or `self_fenced`.
   */
  commit(encode: (epoch: number) => readonly EncodedRecord[]): Promise<void>
  /** Lets the next owner in at once. Never rejects: an owner that can not say so is found out by its expiry. */
  release(): Promise<void>
}

export type OwnedLogParts = {
  id: SessionId
  lines: SessionLines
  backend: LogBackend
  clock: Clock
  records: readonly SessionRecord[]
  nextSeq: number
  prev: string
  damage: readonly Damage[]
  /** After each durable batch. */
  committed(records: readonly SessionRecord[]): void
  /** After the last; also when the session was taken away. */
  ended(): void
}

/** After these this process does not own the session, or can not know what is in it. */
const LOSING = ['session_superseded', 'outcome_unknown', 'self_fenced'] as const

export type OwnedLog = SessionLog & {
  /** Gives the session up without a word to its store; every append from now on rejects with `error`. */
  lose(error: unknown): void
}

export function createOwnedLog(parts: OwnedLogParts): OwnedLog {
  const { id, backend, clock } = parts
  const records = [...parts.records]
  let { nextSeq, prev } = parts
  const lost = new AbortController()
  let closing: Promise<void> | null = null

  function lose(error: unknown): void {
    if (lost.signal.aborted) return
    lost.abort(error)
    parts.ended()
  }

  async function commit(bodies: readonly QueuedBody[]): Promise<readonly SessionRecord[]> {
    lost.signal.throwIfAborted()
    let encoded: readonly EncodedRecord[] = []
    try {
      await backend.commit(epoch => {
        encoded = encodeBatch(parts.lines, bodies, epoch, nextSeq, prev)
        return encoded
      })
    } catch (error) {
      if (isError(error, ...LOSING)) lose(error)
      throw error
    }
    const batch = encoded.map(one => one.record)
    nextSeq += batch.length
    prev = encoded.at(-1)?.hash ?? prev
    records.push(...batch)
    parts.committed(batch)
    return batch
  }
  const queue = createAppendQueue(commit)

  async function close(): Promise<void> {
    await queue.idle()
    if (lost.signal.aborted) return
    await backend.release()
    parts.ended()
  }

  return {
    id,
    get epoch() {
      return backend.epoch
    },
    records,
    damage: parts.damage,
    lost: lost.signal,
    lose,
    append: async (...bodies) => {
      if (closing) throw fail('closed', { id })
      const at = clock.now()
      return queue.add(prepareAll(id, bodies).map(body => ({ ...body, at })))
    },
    close: () => {
      closing ??= close()
      return closing
    },
  }
}

/** A newer format is not read, since what it means is not known. */
export function checkVersion(id: SessionId, records: readonly SessionRecord[]): void {
  const session = records.find(record => record.type === 'session')
  if (session && session.version > SESSION_VERSION) {
    throw fail('version', { id, version: session.version, supported: SESSION_VERSION })
  }
}

export function prepareAll(id: SessionId, bodies: readonly RecordBody[]): PreparedBody[] {
  return bodies.map(body => {
    const prepared = prepareBody(body)
    if (typeof prepared === 'string') throw fail('bad_record', { id, type: body.type, reason: prepared })
    return prepared
  })
}

export function encodeBatch(
  lines: SessionLines,
  bodies: readonly QueuedBody[],
  epoch: number,
  firstSeq: number,
  firstPrev: string,
): readonly EncodedRecord[] {
  let prev = firstPrev
  return bodies.map((body, index) => {
    const one = lines.encode(body, { seq: firstSeq + index, epoch, prev, at: body.at })
    prev = one.hash
    return one
  })
}
