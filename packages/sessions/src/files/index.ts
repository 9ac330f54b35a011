/** Store `files`: one folder a session on a local disk or a shared POSIX file system, one segment an owner. */
import { dirname, join } from 'node:path'
import {
  type Clock,
  isError,
  isSessionId,
  messageOf,
  type Random,
  SESSION_VERSION,
  type SessionId,
  type SessionRecord,
} from '@beige/protocol'
import type { FoundDamage } from '../chain.ts'
import { fail } from '../errors.ts'
import { newIncarnation } from '../incarnation.ts'
import { nodeDisk, systemTicker } from '../node-world.ts'
import type { Disk, SessionWorld, Ticker } from '../outside.ts'
import { createOwnedLog, encodeBatch, prepareAll } from '../owned-log.ts'
import { FIRST_PREV } from '../record-line.ts'
import { segmentName } from '../segment-lines.ts'
import { emptyRow, moveRow, type RowState } from '../session-row.ts'
import type { NewSession, OpenOptions, SessionLog, SessionStore } from '../store.ts'
import { MAX_SEGMENTS, removeSegments, writeBase } from './base.ts'
import { createHeartbeat } from './heartbeat.ts'
import { createHolderWatch } from './holder.ts'
import { createListing } from './listing.ts'
import { damageRecords, quarantine } from './quarantine.ts'
import { readLogStart } from './rebuild-row.ts'
import { createSegmentWriter, type SegmentWriter } from './segment-writer.ts'
import { takeOver, viewFolder } from './takeover.ts'

/** Disk and ticks are the real ones where they are not given. */
export type FilesStoreParts = { root: string; clock: Clock; random: Random; disk?: Disk; ticker?: Ticker }

/** `root` holds the folders of the sessions; it and missing ones above it are made at the first need. */
export function createFilesStore(parts: FilesStoreParts): SessionStore {
  const { root, clock, random, disk = nodeDisk, ticker = systemTicker } = parts
  const world: SessionWorld = { clock, random, disk, ticker }
  const incarnation = newIncarnation(random)
  const place = { world, root, incarnation }
  const heartbeat = createHeartbeat(place)
  const watch = createHolderWatch(place)
  const listing = createListing(place)
  /** Null while it is being opened. */
  const open = new Map<SessionId, SessionLog | null>()

  function own(
    id: SessionId,
    writer: SegmentWriter,
    history: { records: readonly SessionRecord[]; nextSeq: number; prev: string },
    damage: readonly FoundDamage[],
  ): SessionLog {
    let row: RowState = history.records.reduce(moveRow, emptyRow(id))
    const log = createOwnedLog({
      id,
      backend: writer,
      clock,
      ...history,
      damage: damage.map(({ bytes: _, ...told }) => told),
      committed(records) {
        row = records.reduce(moveRow, row)
        if (records.some(record => LISTED.has(record.type))) listing.put(row.row)
      },
      ended() {
        heartbeat.end()
        open.delete(id)
        if (row.row.updatedAt > 0) listing.put(row.row)
      },
    })
    heartbeat.begin()
    return log
  }

  /** One opening of an id at a time in this process; `become` is undone when it fails. */
  async function claimed(id: SessionId, become: () => Promise<SessionLog>): Promise<SessionLog> {
    if (open.has(id)) throw fail('session_busy', { id, owner: incarnation })
    open.set(id, null)
    try {
      const log = await become()
      open.set(id, log)
      return log
    } catch (error) {
      open.delete(id)
      // Whoever was faster than we is the owner; we never were.
      throw isError(error, 'session_superseded')
        ? fail('session_busy', { id, owner: 'another' }, error)
        : error
    }
  }

  async function makeRoot(path: string): Promise<void> {
    try {
      await disk.makeDirectory(path)
    } catch (error) {
      if (!isMissing(error) || dirname(path) === path) throw error
      await makeRoot(dirname(path))
      await disk.makeDirectory(path)
    }
    await disk.syncDirectory(dirname(path))
  }

  /** The folder is ours alone: everything of the new session is one write, and its syncs run side by side. */
  async function createAfresh(
    id: SessionId,
    folder: string,
    bodies: ReturnType<typeof prepareAll>,
  ): Promise<SessionLog | null> {
    const file = await disk.create(join(folder, segmentName(1)))
    if (!file) return null
    const writer = createSegmentWriter({
      disk,
      id,
      folder,
      owner: incarnation,
      epoch: 1,
      file,
      sealed: new Map(),
      lastSeq: 0,
      prev: FIRST_PREV,
      unsynced: [folder, root],
    })
    const at = clock.now()
    const queued = bodies.map(body => ({ ...body, at }))
    let encoded: ReturnType<typeof encodeBatch> = []
    try {
      await writer.commit(epoch => {
        encoded = encodeBatch(queued, epoch, 1, FIRST_PREV)
        return encoded
      })
    } catch (error) {
      await writer.release()
      await removeNeverMade(folder, writer.epoch)
      throw error
    }
    const records = encoded.map(one => one.record)
    const log = own(
      id,
      writer,
      { records, nextSeq: records.length + 1, prev: encoded.at(-1)?.hash ?? FIRST_PREV },
      [],
    )
    listing.put(records.reduce(moveRow, emptyRow(id)).row)
    return log
  }

  /** What a failed creation left must not look like a session (H04). What can not be removed either is found empty. */
  async function removeNeverMade(folder: string, epoch: number): Promise<void> {
    try {
      const own = Array.from({ length: epoch }, (_, index) => index + 1)
      await removeSegments(disk, folder, own)
      await disk.removeDirectory(folder)
    } catch {
      // The error of the creation is the one to tell.
    }
  }

  async function wasMade(id: SessionId): Promise<boolean> {
    const start = await readLogStart(disk, join(root, id))
    // An emptied log looks like one that never was, but for the index (H05).
    return start !== null && (start.isMade || (start.epochs.length > 0 && (await listing.has(id))))
  }

  /** `isKnown`: there must be records; where none are left, that is the damage. */
  async function takeSession(id: SessionId, options: OpenOptions, isKnown: boolean): Promise<SessionLog> {
    const folder = join(root, id)
    await watch.untilFree(id, folder, options)
    const { writer, view, segmentCount } = await takeOver(disk, id, folder, incarnation)
    const damage = view.records.length > 0 || view.untold.length > 0 ? view.untold : [EMPTIED]
    let gone = [...view.obsolete]
    if (segmentCount - gone.length > MAX_SEGMENTS && (await writeBase(writer, view))) {
      gone = [...gone, ...view.parts.map(part => part.epoch)]
    }
    const log = own(id, writer, view, isKnown ? damage : [])
    try {
      if (isKnown && damage.length > 0) {
        await quarantine(disk, folder, damage)
        await log.append(...damageRecords(damage))
      }
      await removeSegments(disk, folder, gone)
    } catch (error) {
      await log.close()
      throw isError(error)
        ? error
        : fail('storage', { id, what: 'opening it', reason: messageOf(error) }, error)
    }
    return log
  }

  const store: SessionStore = {
    async create(first: NewSession, ...more) {
      const { id } = first
      if (!isSessionId(id)) throw fail('bad_record', { id, type: 'session', reason: 'its id is not valid' })
      const bodies = prepareAll(id, [{ ...first, type: 'session', version: SESSION_VERSION }, ...more])
      return claimed(id, async () => {
        const folder = join(root, id)
        const isNew = await disk.makeDirectory(folder).catch(async error => {
          if (!isMissing(error)) throw error
          await makeRoot(root)
          return disk.makeDirectory(folder)
        })
        const log = isNew ? await createAfresh(id, folder, bodies) : null
        if (log) return log
        if (await wasMade(id)) throw fail('exists', { id })
        const taken = await takeSession(id, {}, false)
        if (taken.records.some(record => record.type === 'session')) {
          await taken.close()
          throw fail('exists', { id })
        }
        await taken.append(...bodies.map(body => body.value))
        return taken
      })
    },
    async open(id, options = {}) {
      const start = isSessionId(id) ? await readLogStart(disk, join(root, id)) : null
      if (!start || !(await wasMade(id))) throw fail('not_found', { id })
      checkVersion(id, start.records)
      return claimed(id, () => takeSession(id, options, true))
    },
    exists: async id => isSessionId(id) && wasMade(id),
    async read(id) {
      const view = isSessionId(id) ? await viewFolder(disk, join(root, id)) : null
      if (!view || (!view.isMade && !(await wasMade(id)))) throw fail('not_found', { id })
      checkVersion(id, view.records)
      return view.records
    },
    list: query => listing.page(query),
    async close() {
      await Promise.all([...open.values()].map(log => log?.close()))
      await listing.close()
      await heartbeat.close()
    },
  }
  return store
}

/** Records that change what a listing shows; the others move only `updatedAt`, which the end writes. */
const LISTED: ReadonlySet<string> = new Set(['session', 'prompt', 'run_end', 'setting'])

function checkVersion(id: SessionId, records: readonly SessionRecord[]): void {
  const session = records.find(record => record.type === 'session')
  if (session && session.version > SESSION_VERSION) {
    throw fail('version', { id, version: session.version, supported: SESSION_VERSION })
  }
}

const EMPTIED: FoundDamage = {
  segment: segmentName(1),
  offset: 0,
  length: 0,
  seqs: [],
  reason: 'emptied',
  bytes: new Uint8Array(0),
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}
