/**
 * The index that a listing reads instead of logs: `<root>/.listings/<incarnation>.jsonl`, one writer each, a sealed row a
 * line, the newest row of a session counts. It is a cache: what it lacks, or can not be read in it, is made again from
 * the logs (H08), and it is never synced.
 */
import { join } from 'node:path'
import { isSessionId, type SessionId } from '@beige/protocol'
import { EXPIRY_MS } from '../incarnation.ts'
import type { SessionWorld, WritableFile } from '../outside.ts'
import type { Sealing } from '../sealing/sealing.ts'
import { plainLines } from '../session-lines.ts'
import { createSortedRows } from '../sorted-rows.ts'
import type { ListPage, ListQuery, SessionRow } from '../store.ts'
import { REPLICAS } from './heartbeat.ts'
import { createListingIndex, rowLine } from './listing-index.ts'
import { rebuildRow } from './rebuild-row.ts'

export const LISTINGS = '.listings'
const MAX_FILES = 32 // of ended processes; more are folded into the lister's own
/** After this time a listing looks again for sessions that no index tells of, and for those that are gone. */
const LOOK_AGAIN_MS = 60_000

export interface Listing {
  /** Adds the newest row of a session to the index, some time soon. */
  put(row: SessionRow): void
  /** Its folder is gone. */
  removed(id: SessionId): void
  /** Its folder is back; all processes are told. */
  restored(id: SessionId): Promise<void>
  has(id: SessionId): Promise<boolean>
  page(query: ListQuery): Promise<ListPage>
  /** Puts all rows into a file of our own and removes those of processes that are gone; answers how many others stay. */
  rewrite(): Promise<number>
  /** Everything put so far is in the file, or will never be. */
  flush(): Promise<void>
  close(): Promise<void>
}

export function createListing(parts: {
  world: SessionWorld
  root: string
  incarnation: string
  sealing?: Sealing
}): Listing {
  const { root, incarnation, sealing } = parts
  const linesOf = (id: SessionId) => sealing?.lines(id) ?? plainLines
  const { clock, disk } = parts.world
  const folder = join(root, LISTINGS)
  const ownName = `${incarnation}.jsonl`
  let file: WritableFile | null = null
  let size = 0
  let isBroken = false
  let waiting: SessionRow[] = []
  let writing: Promise<void> = Promise.resolve()
  const index = createListingIndex({ disk, folder, sealing })
  /** Of the sessions whose folder was seen. */
  const present = createSortedRows()
  let lookedAt: number | null = null
  let refreshing: Promise<void> = Promise.resolve()
  let looking: Promise<void> = Promise.resolve()

  async function write(): Promise<void> {
    const rows = waiting
    waiting = []
    if (rows.length === 0 || isBroken) return
    try {
      if (!file) await disk.makeDirectory(folder)
      file ??= await disk.create(join(folder, ownName))
      const bytes = Buffer.concat(rows.map(row => rowLine(row, sealing)))
      await file?.write(bytes, size)
      size += bytes.length
    } catch {
      // Half a row may be there, so nothing goes behind it (H01); these sessions are read from their logs.
      isBroken = true
    }
  }

  function put(row: SessionRow): void {
    waiting.push(row)
    writing = writing.then(write)
  }

  /** Puts all rows into our file, and then `names` are of no use. */
  async function take(names: readonly string[], rows: readonly SessionRow[]): Promise<void> {
    for (const row of rows) put(row)
    await writing
    if (isBroken) return
    for (const name of names) await disk.remove(join(folder, name))
  }

  const beatOf = (name: string) => disk.read(join(root, REPLICAS, name.replace(/\.jsonl$/, '')))

  /** Files of processes that ended in order; one that was killed may yet be alive and paused. */
  async function fold(names: readonly string[]): Promise<void> {
    if (names.length <= MAX_FILES) return
    const alive = new Set((await disk.list(join(root, REPLICAS))) ?? [])
    const ended = names.filter(name => name !== ownName && !alive.has(name.replace(/\.jsonl$/, '')))
    if (ended.length > MAX_FILES && !isBroken) await take(ended, present.all())
  }

  /** Also those of processes that were killed: their heartbeat stands still. */
  async function silentOf(names: readonly string[]): Promise<string[]> {
    const before = await Promise.all(names.map(beatOf))
    if (before.some(beat => beat !== null)) await clock.sleep(EXPIRY_MS)
    const after = await Promise.all(names.map(beatOf))
    return names.filter((_, index) => isSameBeat(before[index] ?? null, after[index] ?? null))
  }

  /** Takes over what the index says; a session that something is said about is there, until it is looked for. */
  function refresh(): Promise<void> {
    refreshing = refreshing.then(readOn, readOn)
    return refreshing
  }

  async function readOn(): Promise<void> {
    await writing
    for (const id of await index.refresh()) {
      const row = index.rows().get(id)
      if (row) present.set(row)
      else {
        present.delete(id)
        lookedAt = null // its index can not be read, so its log is asked
      }
    }
  }

  const rowOf = async (id: SessionId) =>
    index.rows().get(id) ?? (await rebuildRow(disk, join(root, id), id, linesOf(id)))

  /** What is there by the folders alone. A session that no index tells of is made out of its log. */
  async function lookAtAll(): Promise<void> {
    const ids = new Set(((await disk.list(root)) ?? []).filter(isSessionId))
    for (const { id } of present.all()) if (!ids.has(id)) present.delete(id)
    for (const id of ids) {
      if (present.has(id)) continue
      const row = await rowOf(id)
      if (!row) continue
      present.set(row)
      // Of a session whose key is not here nothing is known, and that is not to be remembered.
      if (!index.rows().has(id) && row.updatedAt > 0) put(row)
    }
  }

  async function readPresent(): Promise<void> {
    await refresh()
    const isFirst = lookedAt === null
    if (lookedAt !== null && clock.monotonic() - lookedAt < LOOK_AGAIN_MS) return
    lookedAt = clock.monotonic()
    looking = looking.then(lookAtAll, lookAtAll)
    // Later ones need not be waited for: a page looks for its own rows.
    if (isFirst) await looking
    else looking = looking.catch(() => {})
  }

  /** Those of a page are looked for each time: another process may have removed one. */
  async function pageThatIsThere(query: ListQuery): Promise<ListPage> {
    for (;;) {
      const page = present.page(query)
      const folders = await Promise.all(page.rows.map(({ id }) => disk.list(join(root, id))))
      const gone = page.rows.filter((_, index) => folders[index] === null)
      if (gone.length === 0) return page
      for (const { id } of gone) present.delete(id)
    }
  }

  return {
    put,
    removed: id => present.delete(id),
    async restored(id) {
      await refresh()
      const row = await rowOf(id)
      if (row) put(row)
    },
    async has(id) {
      await refresh()
      return index.rows().has(id)
    },
    async page(query) {
      await readPresent()
      await fold(index.names())
      return pageThatIsThere(query)
    },
    async rewrite() {
      lookedAt = null
      await readPresent()
      const others = index.names().filter(name => name !== ownName)
      const silent = await silentOf(others)
      await take(silent, present.all())
      return isBroken ? others.length : others.length - silent.length
    },
    async flush() {
      await writing
    },
    async close() {
      await looking.catch(() => {}) // whoever waited for it was told
      await writing
      await file?.close()
      file = null
      isBroken = true
    },
  }
}

function isSameBeat(a: Uint8Array | null, b: Uint8Array | null): boolean {
  return a === null || b === null ? a === b : Buffer.from(a).equals(b)
}
