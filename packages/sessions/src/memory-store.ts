/** Store `memory`: nothing outlives the process. For tests and `--no-session-persistence`; owns and fences as the others. */
import {
  type Clock,
  isSessionId,
  type Random,
  SESSION_VERSION,
  type SessionId,
  type SessionRecord,
} from '@beige/protocol'
import { fail } from './errors.ts'
import { EXPIRY_MS, HEARTBEAT_MS, newIncarnation, WATCH_MS } from './incarnation.ts'
import { pageOf } from './listing-page.ts'
import { systemTicker } from './node-world.ts'
import type { Ticker } from './outside.ts'
import { createOwnedLog, type LogBackend } from './owned-log.ts'
import { FIRST_PREV } from './record-line.ts'
import { plainLines } from './session-lines.ts'
import { rowOf } from './session-row.ts'
import type { OpenOptions, SessionLog, SessionStore, TrashedSession } from './store.ts'

type Kept = {
  epoch: number
  owner: string | null
  records: SessionRecord[]
  prev: string
  deletedAt: number | null
}

/** What several stores share that play several processes; `beats` is by incarnation, monotonic ms. */
export type MemoryVault = { sessions: Map<SessionId, Kept>; beats: Map<string, number> }

export function createMemoryVault(): MemoryVault {
  return { sessions: new Map(), beats: new Map() }
}

export function createMemoryStore(parts: {
  clock: Clock
  random: Random
  ticker?: Ticker
  vault?: MemoryVault
}): SessionStore {
  const { clock, random, ticker = systemTicker } = parts
  const vault = parts.vault ?? createMemoryVault()
  const incarnation = newIncarnation(random)
  const open = new Map<SessionId, SessionLog>()
  let stopBeating: (() => void) | null = null

  async function beat(): Promise<void> {
    vault.beats.set(incarnation, clock.monotonic())
  }

  async function own(id: SessionId, kept: Kept): Promise<SessionLog> {
    await beat()
    stopBeating ??= ticker.every(HEARTBEAT_MS, beat)
    kept.epoch++
    kept.owner = incarnation
    const log = createOwnedLog({
      id,
      lines: plainLines,
      backend: backendOf(id, kept, incarnation),
      clock,
      records: kept.records,
      nextSeq: kept.records.length + 1,
      prev: kept.prev,
      damage: [],
      committed: () => {},
      ended: () => {
        open.delete(id)
        if (open.size > 0) return
        stopBeating?.()
        stopBeating = null
      },
    })
    open.set(id, log)
    return log
  }

  /** A beat seen while waiting means that the owner lives. */
  async function untilFree(id: SessionId, kept: Kept, options: OpenOptions): Promise<void> {
    const { owner } = kept
    if (owner === null || (owner === incarnation && !open.has(id))) return
    const beatAt = vault.beats.get(owner) ?? Number.NEGATIVE_INFINITY
    const leftMs = () => beatAt + EXPIRY_MS - clock.monotonic()
    if (leftMs() > 0 && owner !== incarnation) options.waiting?.({ owner, atMostMs: leftMs() })
    while (leftMs() > 0 && kept.owner !== null) {
      const isSilent = kept.owner === owner && vault.beats.get(owner) === beatAt
      if (owner === incarnation || !isSilent) throw fail('session_busy', { id, owner: kept.owner })
      await clock.sleep(WATCH_MS, options.signal)
    }
  }

  function find(id: SessionId): Kept {
    const kept = vault.sessions.get(id)
    if (!kept || kept.deletedAt !== null) throw fail('not_found', { id })
    return kept
  }

  /** Newest first. */
  function trashed(): TrashedSession[] {
    return [...vault.sessions]
      .flatMap(([id, { deletedAt, records }]) =>
        deletedAt !== null && records.length > 0 ? [{ id, deletedAt, place: null }] : [],
      )
      .sort((a, b) => b.deletedAt - a.deletedAt)
  }

  return {
    async create(first, ...more) {
      const { id } = first
      if (!isSessionId(id)) throw fail('bad_record', { id, type: 'session', reason: 'its id is not valid' })
      if (vault.sessions.has(id)) throw fail('exists', { id })
      const kept: Kept = { epoch: 0, owner: null, records: [], prev: FIRST_PREV, deletedAt: null }
      vault.sessions.set(id, kept)
      const log = await own(id, kept)
      await log.append({ ...first, type: 'session', version: SESSION_VERSION }, ...more)
      return log
    },
    async open(id, options = {}) {
      const kept = find(id)
      await untilFree(id, kept, options)
      return own(id, kept)
    },
    exists: async id => vault.sessions.get(id)?.deletedAt === null,
    read: async id => [...find(id).records],
    list: async query =>
      pageOf(
        [...vault.sessions].flatMap(([id, kept]) =>
          kept.deletedAt === null ? [rowOf(id, kept.records)] : [],
        ),
        query,
      ),
    async remove(id) {
      if (trashed().some(entry => entry.id === id)) return
      const kept = find(id)
      if (open.has(id)) throw fail('session_busy', { id, owner: incarnation })
      await untilFree(id, kept, {})
      kept.epoch++
      kept.owner = null
      kept.deletedAt = clock.now()
    },
    trash: async () => trashed(),
    async restore(id) {
      const kept = vault.sessions.get(id)
      if (kept && kept.deletedAt === null) throw fail('exists', { id })
      if (!kept || kept.records.length === 0) throw fail('not_in_trash', { id })
      kept.deletedAt = null
    },
    async emptyTrash(time) {
      const old = trashed().filter(entry => entry.deletedAt < time)
      // The row stays: an epoch is never given twice.
      for (const { id } of old) vault.sessions.get(id)?.records.splice(0)
      return old.length
    },
    async close() {
      await Promise.all([...open.values()].map(log => log.close()))
    },
  }
}

function backendOf(id: SessionId, kept: Kept, incarnation: string): LogBackend {
  const { epoch } = kept
  const isOwner = () => kept.epoch === epoch && kept.owner === incarnation
  return {
    epoch,
    async commit(encode) {
      if (!isOwner()) throw fail('session_superseded', { id, epoch })
      const encoded = encode(epoch)
      kept.records.push(...encoded.map(one => one.record))
      kept.prev = encoded.at(-1)?.hash ?? kept.prev
    },
    async release() {
      if (isOwner()) kept.owner = null
    },
  }
}
