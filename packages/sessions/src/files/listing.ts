/**
 * The index that a listing reads instead of logs: `<root>/.listings/<incarnation>.jsonl`, one writer each, a sealed row a
 * line, the newest row of a session counts. It is a cache: what it lacks, or can not be read in it, is made again from
 * the logs (H08), and it is never synced.
 */
import { join } from 'node:path'
import { isSessionId, type SessionId } from '@beige/protocol'
import { compile, int, map, nullable, obj, opt, str, unknown } from '@earendil-works/pi-schema'
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
  /** Puts all rows into a file of our own and removes those of ended processes; answers how many others stay. */
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
  const { disk } = parts.world
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

  /** Files of processes that ended in order; one that was killed may yet be alive and paused. */
  async function endedOf(names: readonly string[]): Promise<string[]> {
    const alive = new Set((await disk.list(join(root, REPLICAS))) ?? [])
    return names.filter(name => name !== ownName && !alive.has(name.replace(/\.jsonl$/, '')))
  }

  async function fold(
    names: readonly string[],
    rows: readonly SessionRow[],
    maxFiles: number,
  ): Promise<void> {
    const ended = await endedOf(names)
    if (ended.length <= maxFiles || isBroken) return
    for (const row of rows) put(row)
    await writing
    if (isBroken) return
    for (const name of ended) await disk.remove(join(folder, name))
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
      await fold(names, present, MAX_FILES)
      return pageOf(present, query)
    },
    async rewrite() {
      const { present, names } = await readPresent()
      await fold(names, present, 0)
      return ((await disk.list(folder)) ?? []).filter(name => name !== ownName).length
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
