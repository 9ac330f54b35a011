/** Store `files`: one folder a session on a local disk or a shared POSIX file system, one segment an owner. */
import { join } from 'node:path'
import {
  type Clock,
  isSessionId,
  type Random,
  SESSION_VERSION,
  type SessionId,
  type SessionRecord,
} from '@beige/protocol'
import type { FoundDamage } from '../chain.ts'
import { fail } from '../errors.ts'
import { newIncarnation } from '../incarnation.ts'
import type { LogView, ViewOptions } from '../log-view.ts'
import { nodeDisk, systemTicker } from '../node-world.ts'
import { createOpenSessions, storageError } from '../open-sessions.ts'
import type { Disk, SessionWorld, Ticker } from '../outside.ts'
import { checkVersion, createOwnedLog, prepareAll } from '../owned-log.ts'
import type { PreparedBody } from '../record-line.ts'
import type { Sealing } from '../sealing/sealing.ts'
import { segmentName } from '../segment-lines.ts'
import { plainLines, type SessionLines } from '../session-lines.ts'
import { emptyRow, isRowDue, moveRow, type RowState } from '../session-row.ts'
import type { NewSession, OpenOptions, RewrappableStore, SessionLog, SessionRow } from '../store.ts'
import { MAX_SEGMENTS, removeSegments, writeBase } from './base.ts'
import { createHeartbeat } from './heartbeat.ts'
import { createHolderWatch } from './holder.ts'
import { createListing } from './listing.ts'
import { writeNewSession } from './new-session.ts'
import { damageRecords, quarantine } from './quarantine.ts'
import { checkKeys } from './readable.ts'
import { type LogStart, readLogStart } from './rebuild-row.ts'
import { isRewrapped, sealQuarantine, writeRewrappedBase } from './rewrap.ts'
import type { SegmentWriter } from './segment-writer.ts'
import { takeOver, viewFolder } from './takeover.ts'
import { createTrash } from './trash.ts'

/** Disk and ticks are the real ones where they are not given. */
export type FilesStoreParts = {
  root: string
  clock: Clock
  random: Random
  disk?: Disk
  ticker?: Ticker
  /** With the keys of its tenant all sessions are sealed, and only sealed ones are read. */
  sealing?: Sealing
}

type Rewriting = {
  id: SessionId
  writer: SegmentWriter
  view: LogView
  before: readonly number[]
  lines: SessionLines
  damage: readonly FoundDamage[]
  options: OpenOptions
  folder: string
}

/** `root` holds the folders of the sessions; it and missing ones above it are made at the first need. */
export function createFilesStore(parts: FilesStoreParts): RewrappableStore {
  const { root, clock, random, disk = nodeDisk, ticker = systemTicker, sealing } = parts
  const linesOf = (id: SessionId): SessionLines => sealing?.lines(id) ?? plainLines
  const world: SessionWorld = { clock, random, disk, ticker }
  const incarnation = newIncarnation(random)
  const place = { world, root, incarnation }
  const heartbeat = createHeartbeat(place)
  const watch = createHolderWatch(place)
  const listing = createListing({ ...place, ...(sealing ? { sealing } : {}) })
  const trash = createTrash(place)
  const open = createOpenSessions<SessionLog>(incarnation)

  function own(
    id: SessionId,
    writer: SegmentWriter,
    history: { records: readonly SessionRecord[]; nextSeq: number; prev: string },
    damage: readonly FoundDamage[],
  ): SessionLog {
    let row: RowState = history.records.reduce(moveRow, emptyRow(id))
    let listed: SessionRow | null = null
    const list = (now: SessionRow) => {
      listed = now
      listing.put(now)
    }
    const log = createOwnedLog({
      id,
      lines: linesOf(id),
      backend: writer,
      clock,
      records: history.records,
      nextSeq: history.nextSeq,
      prev: history.prev,
      damage: damage.map(({ bytes: _, ...told }) => told),
      committed(records) {
        row = records.reduce(moveRow, row)
        if (isRowDue(listed, row.row)) list(row.row)
      },
      ended() {
        heartbeat.end()
        open.forget(id)
        if (row.row.updatedAt > 0) list(row.row)
      },
    })
    heartbeat.begin()
    return log
  }

  async function createAfresh(id: SessionId, bodies: readonly PreparedBody[]): Promise<SessionLog | null> {
    const made = await writeNewSession(place, id, linesOf(id), bodies)
    if (!made) return null
    const log = own(id, made.writer, made, [])
    listing.put(made.records.reduce(moveRow, emptyRow(id)).row)
    return log
  }

  async function wasMade(id: SessionId, start: LogStart | null): Promise<boolean> {
    // An emptied log looks like one that never was, but for the index (H05).
    return start !== null && (start.isMade || (start.epochs.length > 0 && (await listing.has(id))))
  }

  const viewing = (id: SessionId): ViewOptions => ({ tail: 'ignore', id, lines: linesOf(id) })

  /** Null also for what is no id, so that no path is ever made of it. */
  async function startOf(id: SessionId): Promise<LogStart | null> {
    return isSessionId(id) ? readLogStart(disk, join(root, id), linesOf(id)) : null
  }

  /** `isKnown`: there must be records; where none are left, that is the damage. */
  async function takeSession(
    id: SessionId,
    options: OpenOptions,
    isKnown: boolean,
    folder = join(root, id),
  ): Promise<SessionLog> {
    const lines = linesOf(id)
    await checkKeys(disk, folder, id, lines)
    await watch.untilFree(id, folder, options)
    const { writer, view, before } = await takeOver(disk, id, folder, incarnation, lines)
    const damage = view.records.length > 0 || view.untold.length > 0 ? view.untold : [EMPTIED]
    const written = await rewritten({ id, writer, view, before, lines, damage, options, folder })
    const log = own(id, writer, { ...view, ...written }, isKnown ? damage : [])
    if (isKnown && damage.length > 0) {
      try {
        await quarantine(disk, folder, damage)
        await log.append(...damageRecords(damage))
      } catch (error) {
        await log.close()
        throw error
      }
    }
    if (options.rewrite === 'newest_key' && sealing) await sealQuarantine(disk, folder, sealing)
    await removeSegments(disk, folder, written ? before : view.obsolete)
    return log
  }

  /** Puts the log together in the new segment where that is due or asked for. */
  async function rewritten(parts: Rewriting): Promise<{ prev?: string } | null> {
    const { id, writer, view, before, lines, damage, options, folder } = parts
    const { rewrite } = options
    const isDue = before.length + 1 - view.obsolete.length > MAX_SEGMENTS
    if (rewrite === undefined) return isDue && (await writeBase(writer, view, 'all', lines)) ? {} : null
    await quarantine(disk, folder, [...view.told, ...damage]) // what is left out now is nowhere else
    const isNewKey = rewrite === 'newest_key'
    const isWritten = isNewKey
      ? await writeRewrappedBase(writer, view, lines)
      : (await writeBase(writer, view, 'repaired', lines)) && {}
    if (isWritten) return isWritten
    throw fail('storage', { id, what: 'writing it anew', reason: 'see the disk' })
  }

  const store: RewrappableStore = {
    async create(first: NewSession, ...more) {
      const { id } = first
      if (!isSessionId(id)) throw fail('bad_record', { id, type: 'session', reason: 'its id is not valid' })
      const bodies = prepareAll(id, [{ ...first, type: 'session', version: SESSION_VERSION }, ...more])
      return open.claim(id, undefined, async () => {
        const log = await createAfresh(id, bodies)
        if (log) return log
        if (await wasMade(id, await startOf(id))) throw fail('exists', { id })
        const taken = await takeSession(id, {}, false)
        if (taken.records.some(record => record.type === 'session')) {
          await taken.close()
          throw fail('exists', { id })
        }
        try {
          await taken.append(...bodies.map(body => body.value))
        } catch (error) {
          await taken.close()
          throw error
        }
        return taken
      })
    },
    async open(id, options = {}) {
      try {
        const start = await startOf(id)
        if (!start || !(await wasMade(id, start))) throw fail('not_found', { id })
        checkVersion(id, start.records)
      } catch (error) {
        throw storageError(id, 'reading its beginning', error)
      }
      return open.claim(id, options.signal, () => takeSession(id, options, true))
    },
    async exists(id) {
      try {
        return await wasMade(id, await startOf(id))
      } catch (error) {
        throw storageError(id, 'looking for it', error)
      }
    },
    async read(id) {
      try {
        const view = isSessionId(id) ? await viewFolder(disk, join(root, id), viewing(id)) : null
        const isThere = view !== null && (view.isMade || (await wasMade(id, await startOf(id))))
        if (!isThere) throw fail('not_found', { id })
        checkVersion(id, view.records)
        return view.records
      } catch (error) {
        throw storageError(id, 'reading it', error)
      }
    },
    list: query => listing.page(query),
    async remove(id) {
      if (!(await wasMade(id, await startOf(id)))) {
        if ((await trash.list()).some(entry => entry.id === id)) return
        throw fail('not_found', { id })
      }
      await open.claim(id, undefined, async () => {
        const folder = join(root, id)
        await watch.untilFree(id, folder, {})
        const { writer } = await takeOver(disk, id, folder, incarnation, linesOf(id))
        await writer.release()
        await trash.take(id)
        listing.removed(id)
        return null
      })
    },
    trash: () => trash.list(),
    async restore(id) {
      try {
        await trash.restore(id)
        await listing.restored(id)
      } catch (error) {
        throw storageError(id, 'restoring it', error)
      }
    },
    emptyTrash: time => trash.empty(time),
    async rewrap(told = () => {}) {
      if (!sealing) throw fail('bad_key', { reason: 'there is none' })
      const ids = ((await disk.list(root)) ?? []).filter(isSessionId)
      const folders = [
        ...ids.map(id => ({ id, folder: join(root, id) })),
        ...(await trash.list()).map(({ id, place: folder }) => ({ id, folder })),
      ]
      for (const { id, folder } of folders) {
        const start = await readLogStart(disk, folder, linesOf(id))
        const isDone = !start?.isMade || (await isRewrapped(disk, folder, sealing))
        if (!isDone) {
          const rewrite = () => takeSession(id, { rewrite: 'newest_key' }, true, folder)
          await (await open.claim(id, undefined, rewrite)).close()
        }
        told({ id, isMoved: !isDone })
      }
      return { unfolded: await listing.rewrite() }
    },
    async close() {
      await open.closeAll()
      await listing.close()
      await heartbeat.close()
    },
  }
  return store
}

const EMPTIED: FoundDamage = {
  segment: segmentName(1),
  offset: 0,
  length: 0,
  seqs: [],
  reason: 'emptied',
  bytes: new Uint8Array(0),
}
