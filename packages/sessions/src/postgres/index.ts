/**
 * Store `postgres`: the sessions of many machines in one database. A shard is the database with this process's lease in
 * it; a store is the sessions of one tenant there.
 */
import { type Clock, isSessionId, type Random, SESSION_VERSION, type SessionId } from '@beige/protocol'
import type { FoundDamage } from '../chain.ts'
import { fail } from '../errors.ts'
import { damageRecords } from '../files/quarantine.ts'
import { EXPIRY_MS, newIncarnation, SELF_FENCE_MS, WATCH_MS } from '../incarnation.ts'
import { systemTicker } from '../node-world.ts'
import { createOpenSessions, type OpenSessions } from '../open-sessions.ts'
import type { Ticker } from '../outside.ts'
import { checkVersion, createOwnedLog, encodeBatch, type OwnedLog, prepareAll } from '../owned-log.ts'
import { FIRST_PREV } from '../record-line.ts'
import type { Sealing } from '../sealing/sealing.ts'
import { checkReadable, plainLines, type SessionLines } from '../session-lines.ts'
import { emptyRow, moveRow } from '../session-row.ts'
import type { OpenOptions, RewrappableStore } from '../store.ts'
import { openPostgresTables, type PostgresTables } from './connect.ts'
import { viewHistory } from './history.ts'
import { createLease, type Lease } from './lease.ts'
import { createPostgresBackend } from './log-backend.ts'
import { isRewrapped, rewrapSession } from './rewrap.ts'
import { sealedTables } from './sealed-tables.ts'
import { untilSettled } from './settle.ts'
import type { Head, Look, SessionTables } from './tables.ts'

export type PostgresShardParts = {
  /** `postgres://host/db`; user and password come from `PGUSER`, `PGPASSWORD`, `PGPASSFILE`. */
  url: string
  clock: Clock
  random: Random
  ticker?: Ticker
  /** What other replicas know this one by. */
  name?: string
  /** Where they may probe it. */
  advertise?: string
  /** Asks a holder's `advertise`; true only when that incarnation is dead for certain. */
  isDead?: (advertise: string, incarnation: string) => Promise<boolean>
  /**
   * Gives all sessions up when no heartbeat was confirmed for 2.5 s, before others may take this process for dead, and
   * calls this. Left out, an owner goes on until the fence stops it.
   */
  selfFenced?: () => void
  /** In place of a real database. */
  tables?: PostgresTables
}

export interface PostgresShard {
  readonly incarnation: string
  /** The sessions of `tenant`, sealed where its keys are given; closed with the shard. */
  store(tenant: string, sealing?: Sealing): RewrappableStore
  close(): Promise<void>
}

type Place = {
  parts: PostgresShardParts
  incarnation: string
  lease: Lease
  open: OpenSessions<OwnedLog>
  tables: SessionTables
  linesOf: (id: SessionId) => SessionLines
  sealing: Sealing | null
}

/** Connects at the first need. */
export function createPostgresShard(parts: PostgresShardParts): PostgresShard {
  const { clock, random, ticker = systemTicker, name = '', advertise = null, selfFenced } = parts
  const incarnation = newIncarnation(random)
  const tables = parts.tables ?? openPostgresTables(parts)
  const opened: OpenSessions<OwnedLog>[] = []
  const silent = () => {
    const logs = opened.flatMap(open => open.logs())
    for (const log of logs) log.lose(fail('self_fenced', { id: log.id, silentMs: SELF_FENCE_MS }))
    if (logs.length > 0) selfFenced?.()
  }
  const lease = createLease({
    table: tables.replicas,
    replica: { incarnation, name, advertise },
    clock,
    ticker,
    silent: selfFenced ? silent : null,
  })
  return {
    incarnation,
    store(tenant, sealing) {
      const open = createOpenSessions<OwnedLog>(incarnation)
      opened.push(open)
      const plain = tables.sessionsOf(tenant)
      const place = { parts, incarnation, lease, open, sealing: sealing ?? null }
      if (!sealing) return storeOf({ ...place, tables: plain, linesOf: () => plainLines })
      return storeOf({ ...place, tables: sealedTables(plain, sealing), linesOf: id => sealing.lines(id) })
    },
    async close() {
      await Promise.all(opened.map(open => open.closeAll()))
      await lease.close()
      await tables.close()
    },
  }
}

/** A shard with one tenant, for a process that has no others. */
export function createPostgresStore(
  parts: PostgresShardParts & { tenant?: string; sealing?: Sealing },
): RewrappableStore {
  const { tenant = LOCAL_TENANT, sealing } = parts
  const shard = createPostgresShard(parts)
  return { ...shard.store(tenant, sealing), close: () => shard.close() }
}

const LOCAL_TENANT = 'local'

function storeOf(place: Place): RewrappableStore {
  const { parts, incarnation, open, tables, lease, linesOf } = place
  const { clock } = parts
  const settled = <T>(action: () => Promise<T>) => untilSettled(clock, action)

  function own(
    id: SessionId,
    head: Head,
    history: Pick<ReturnType<typeof viewHistory>, 'records' | 'nextSeq' | 'prev'>,
    damage: readonly FoundDamage[],
  ): OwnedLog {
    const row = history.records.reduce(moveRow, emptyRow(id))
    lease.hold()
    return createOwnedLog({
      id,
      lines: linesOf(id),
      backend: createPostgresBackend({ id, tables, clock, lease, head, row }),
      clock,
      records: history.records,
      nextSeq: history.nextSeq,
      prev: history.prev,
      damage: damage.map(({ bytes: _, ...told }) => told),
      committed: () => {},
      ended() {
        lease.end()
        open.forget(id)
      },
    })
  }

  /** The lease is there before the session is ours, so that nobody takes it away at once. */
  async function leased<T>(become: () => Promise<T>): Promise<T> {
    lease.hold()
    try {
      await settled(() => lease.confirmed())
      return await become()
    } finally {
      lease.end()
    }
  }

  async function lookAt(id: SessionId): Promise<Look> {
    const look = isSessionId(id) ? await settled(() => tables.look(id)) : null
    if (!look) throw fail('not_found', { id })
    return look
  }

  /** Resolves when nobody alive holds it, with its epoch; a heartbeat seen while waiting means that the owner lives. */
  async function untilFree(
    id: SessionId,
    options: OpenOptions,
  ): Promise<{ epoch: number; isKnownDead: boolean }> {
    const first = await lookAt(id)
    const firstLine = first.firstLine && linesOf(id).read(first.firstLine)
    // Who has not the key must not become the owner: it would take all for damaged.
    if (firstLine && firstLine.kind !== 'refused') checkReadable(id, [firstLine])
    checkVersion(id, firstLine?.kind === 'record' ? [firstLine.record] : [])
    for (let look = first; ; look = await lookAt(id)) {
      options.signal?.throwIfAborted()
      const { epoch, owner, owning } = look
      const isFree = owner === null || owner === incarnation || !owning || owning.leftMs <= 0
      if (isFree) return { epoch, isKnownDead: false }
      if (owner !== first.owner || owning.beats !== first.owning?.beats) {
        throw fail('session_busy', { id, owner, replica: owning.name })
      }
      if (look === first) {
        if (owning.advertise && (await parts.isDead?.(owning.advertise, owner)))
          return { epoch, isKnownDead: true }
        options.waiting?.({ owner, atMostMs: Math.min(owning.leftMs, EXPIRY_MS) })
      }
      await clock.sleep(WATCH_MS, options.signal)
    }
  }

  /** Compare-and-set to `then`; an answer that was lost is looked up. */
  async function compareAndSet(
    id: SessionId,
    set: () => Promise<boolean>,
    then: Partial<Head>,
  ): Promise<void> {
    let isInDoubt = false
    const isSet = await settled(async () => {
      try {
        if (await set()) return true
      } catch (error) {
        isInDoubt = true
        throw error
      }
      const now = isInDoubt ? await tables.head(id) : null
      return now !== null && now.epoch === then.epoch && now.owner === then.owner
    })
    if (!isSet) throw fail('session_busy', { id, owner: 'another' })
  }

  async function takeSession(id: SessionId, options: OpenOptions): Promise<OwnedLog> {
    const { epoch, isKnownDead } = await untilFree(id, options)
    const mine = { epoch: epoch + 1, owner: incarnation }
    await compareAndSet(id, () => tables.take(id, epoch, incarnation, isKnownDead), mine)
    // Read after the compare-and-set has committed: nothing of the owner before can come any more.
    const history = await settled(() => tables.history(id))
    if (!history || history.head.epoch !== mine.epoch)
      throw fail('session_superseded', { id, epoch: mine.epoch })
    const view = viewHistory(history, id, linesOf(id))
    const log = own(id, history.head, view, view.untold)
    if (view.untold.length === 0) return log
    try {
      await settled(() => tables.quarantine(id, view.untold))
      await log.append(...damageRecords(view.untold))
      return log
    } catch (error) {
      await log.close()
      throw error
    }
  }

  /** As its owner, unless it is in the trash: there nobody writes. */
  async function moved(id: SessionId, head: Head, sealing: Sealing): Promise<void> {
    const rewrap = (mine: Head) => rewrapSession({ tables, clock, sealing }, id, mine)
    if (await settled(() => tables.isInTrash(id))) return rewrap(head)
    await open.claim(id, undefined, () =>
      leased(async () => {
        const { epoch, isKnownDead } = await untilFree(id, {})
        const mine = { ...head, epoch: epoch + 1, owner: incarnation }
        await compareAndSet(id, () => tables.take(id, epoch, incarnation, isKnownDead), mine)
        await rewrap(mine)
        await settled(() => tables.release(id, mine, null))
        return null
      }),
    )
  }

  return {
    async create(first, ...more) {
      const { id } = first
      if (!isSessionId(id)) throw fail('bad_record', { id, type: 'session', reason: 'its id is not valid' })
      const bodies = prepareAll(id, [{ ...first, type: 'session', version: SESSION_VERSION }, ...more])
      return open.claim(id, undefined, () =>
        leased(async () => {
          const at = clock.now()
          const encoded = encodeBatch(
            linesOf(id),
            bodies.map(body => ({ ...body, at })),
            1,
            1,
            FIRST_PREV,
          )
          const records = encoded.map(one => one.record)
          const { row } = records.reduce(moveRow, emptyRow(id))
          const head = {
            epoch: 1,
            owner: incarnation,
            lastSeq: records.length,
            prev: encoded.at(-1)?.hash ?? FIRST_PREV,
          }
          let isInDoubt = false
          const isMade = await settled(async () => {
            try {
              if (await tables.create(id, incarnation, encoded, row)) return true
            } catch (error) {
              isInDoubt = true
              throw error
            }
            const now = isInDoubt ? await tables.head(id) : null
            return now !== null && now.owner === incarnation && now.prev === head.prev
          })
          if (!isMade) throw fail('exists', { id })
          return own(id, head, { records, nextSeq: head.lastSeq + 1, prev: head.prev }, [])
        }),
      )
    },
    async open(id, options = {}) {
      await lookAt(id)
      return open.claim(id, options.signal, () => leased(() => takeSession(id, options)))
    },
    exists: async id => isSessionId(id) && (await settled(() => tables.look(id))) !== null,
    async read(id) {
      const history = isSessionId(id) ? await settled(() => tables.history(id)) : null
      if (!history) throw fail('not_found', { id })
      const { records } = viewHistory(history, id, linesOf(id))
      checkVersion(id, records)
      return records
    },
    list: query => settled(() => tables.page(query)),
    async remove(id) {
      if (isSessionId(id) && (await settled(() => tables.isInTrash(id)))) return
      await lookAt(id)
      await open.claim(id, undefined, async () => {
        const { epoch } = await untilFree(id, {})
        const set = () => tables.remove(id, epoch, incarnation, clock.now())
        await compareAndSet(id, set, { epoch: epoch + 1, owner: null })
        return null
      })
    },
    trash: () => settled(() => tables.trash()),
    async restore(id) {
      if (isSessionId(id) && (await settled(() => tables.look(id)))) throw fail('exists', { id })
      if (!isSessionId(id) || !(await settled(() => tables.restore(id)))) throw fail('not_in_trash', { id })
    },
    emptyTrash: time => settled(() => tables.emptyTrash(time, clock.now())),
    async rewrap(told = () => {}) {
      const { sealing } = place
      if (!sealing) throw fail('bad_key', { reason: 'there is none' })
      for (const id of await settled(() => tables.all())) {
        const history = await settled(() => tables.wholeHistory(id))
        const isMoved = history !== null && !(await isRewrapped(tables, id, history, sealing))
        if (isMoved) await moved(id, history.head, sealing)
        told({ id, isMoved })
      }
      return { unfolded: 0 }
    },
    close: () => open.closeAll(),
  }
}
