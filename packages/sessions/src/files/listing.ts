/**
 * The index that a listing reads instead of logs: `<root>/.listings/<incarnation>.jsonl`, one writer each, a sealed row a
 * line, the newest row of a session counts. It is a cache: what it lacks, or can not be read in it, is made again from
 * the logs (H08), and it is never synced.
 */
import { join } from 'node:path'
import { isSessionId, type SessionId } from '@beige/protocol'
import { compile, int, map, nullable, obj, opt, str, unknown } from '@earendil-works/pi-schema'
import { EXPIRY_MS } from '../incarnation.ts'
import { pageOf } from '../listing-page.ts'
import type { SessionWorld, WritableFile } from '../outside.ts'
import { seal, unseal } from '../record-line.ts'
import type { Sealing } from '../sealing/sealing.ts'
import { plainLines } from '../session-lines.ts'
import type { ListPage, ListQuery, SessionRow } from '../store.ts'
import { REPLICAS } from './heartbeat.ts'
import { rebuildRow } from './rebuild-row.ts'

export const LISTINGS = '.listings'
const MAX_FILES = 32 // of ended processes; more are folded into the lister's own
const NEWLINE = 0x0a

const rowSchema = compile(
  obj({
    id: str(),
    title: str(),
    cwd: str(),
    model: str(),
    createdAt: int(),
    updatedAt: int(),
    messageCount: nullable(int()),
    parent: opt(str()),
    meta: map(unknown()),
  }),
)

export interface Listing {
  /** Adds the newest row of a session to the index, some time soon. */
  put(row: SessionRow): void
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

  async function readIndex(): Promise<{ rows: Map<string, SessionRow>; names: string[] }> {
    const rows = new Map<string, SessionRow>()
    const names = ((await disk.list(folder)) ?? []).filter(name => name.endsWith('.jsonl'))
    for (const name of names) {
      for (const row of readRows(await disk.read(join(folder, name)), sealing)) {
        const known = rows.get(row.id)
        if (!known || known.updatedAt <= row.updatedAt) rows.set(row.id, row)
      }
    }
    return { rows, names }
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
  async function fold(names: readonly string[], rows: readonly SessionRow[]): Promise<void> {
    const alive = new Set((await disk.list(join(root, REPLICAS))) ?? [])
    const ended = names.filter(name => name !== ownName && !alive.has(name.replace(/\.jsonl$/, '')))
    if (ended.length > MAX_FILES && !isBroken) await take(ended, rows)
  }

  /** Also those of processes that were killed: their heartbeat stands still. */
  async function silentOf(names: readonly string[]): Promise<string[]> {
    const before = await Promise.all(names.map(beatOf))
    if (before.some(beat => beat !== null)) await clock.sleep(EXPIRY_MS)
    const after = await Promise.all(names.map(beatOf))
    return names.filter((_, index) => isSameBeat(before[index] ?? null, after[index] ?? null))
  }

  async function readPresent(): Promise<{ present: SessionRow[]; names: string[] }> {
    await writing
    const ids = ((await disk.list(root)) ?? []).filter(isSessionId)
    const { rows, names } = await readIndex()
    const present: SessionRow[] = []
    for (const id of ids) {
      const row = rows.get(id) ?? (await rebuildRow(disk, join(root, id), id, linesOf(id)))
      if (!row) continue
      present.push(row)
      // Of a session whose key is not here nothing is known, and that is not to be remembered.
      if (!rows.has(id) && row.updatedAt > 0) put(row)
    }
    return { present, names }
  }

  return {
    put,
    async has(id) {
      await writing
      return (await readIndex()).rows.has(id)
    },
    async page(query) {
      const { present, names } = await readPresent()
      await fold(names, present)
      return pageOf(present, query)
    },
    async rewrite() {
      const { present, names } = await readPresent()
      const others = names.filter(name => name !== ownName)
      const silent = await silentOf(others)
      await take(silent, present)
      return isBroken ? others.length : others.length - silent.length
    },
    async flush() {
      await writing
    },
    async close() {
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

/** None of a file that has an unreadable line: what is newest in it can not be known then. */
function readRows(bytes: Uint8Array | null, sealing: Sealing | undefined): SessionRow[] {
  const rows: SessionRow[] = []
  let start = 0
  for (let end = bytes?.indexOf(NEWLINE) ?? -1; bytes && end >= 0; end = bytes.indexOf(NEWLINE, start)) {
    const value = rowIn(bytes.subarray(start, end), sealing)
    if (!rowSchema.check(value) || !isSessionId(value.id)) return []
    rows.push({ ...value, id: value.id })
    start = end + 1
  }
  return rows
}

function rowLine(row: SessionRow, sealing: Sealing | undefined): Uint8Array {
  const text = JSON.stringify(row)
  const line = sealing ? Buffer.from(sealing.sealText(text), 'latin1') : seal(text.slice(0, -1))
  return Buffer.concat([line, Buffer.of(NEWLINE)])
}

function rowIn(line: Uint8Array, sealing: Sealing | undefined): unknown {
  if (!sealing) return unseal(line)
  const text = sealing.openText(Buffer.from(line).toString('latin1'))
  return text === null ? undefined : JSON.parse(text)
}
