/**
 * Reads the index files of all processes, and later only what has come since: a file is only ever appended to, by one
 * writer. A file with an unreadable line counts for nothing, since what is newest in it can not be known (H08).
 */
import { join } from 'node:path'
import { isSessionId, type SessionId } from '@beige/protocol'
import { compile, int, map, nullable, obj, opt, str, unknown } from '@earendil-works/pi-schema'
import type { Disk } from '../outside.ts'
import { seal, unseal } from '../record-line.ts'
import type { Sealing } from '../sealing/sealing.ts'
import type { SessionRow } from '../store.ts'

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

export interface ListingIndex {
  /** Reads on. Answers the ids that something was said about since the last time. */
  refresh(): Promise<ReadonlySet<SessionId>>
  /** The newest row of each session, as of the last refresh. */
  rows(): ReadonlyMap<SessionId, SessionRow>
  /** Names of the files, as of the last refresh. */
  names(): readonly string[]
}

export function createListingIndex(parts: {
  disk: Disk
  folder: string
  sealing: Sealing | undefined
}): ListingIndex {
  const { disk, folder, sealing } = parts
  const rows = new Map<SessionId, SessionRow>()
  /** How far each file was read; null where it counts for nothing. */
  const readTo = new Map<string, number | null>()
  let names: readonly string[] = []

  /** False where a line can not be read. */
  async function readOn(name: string, told: Set<SessionId>): Promise<boolean> {
    const from = readTo.get(name) ?? 0
    const bytes = await disk.readFrom(join(folder, name), from)
    let start = 0
    for (let end = bytes?.indexOf(NEWLINE) ?? -1; bytes && end >= 0; end = bytes.indexOf(NEWLINE, start)) {
      const value = rowIn(bytes.subarray(start, end), sealing)
      if (!rowSchema.check(value) || !isSessionId(value.id)) return false
      const row = { ...value, id: value.id }
      const known = rows.get(row.id)
      if (!known || known.updatedAt <= row.updatedAt) rows.set(row.id, row)
      told.add(row.id)
      start = end + 1
    }
    readTo.set(name, from + start)
    return true
  }

  /** All anew, without those that count for nothing. */
  function forget(): void {
    rows.clear()
    for (const [name, to] of readTo) if (to !== null) readTo.delete(name)
  }

  return {
    async refresh() {
      names = ((await disk.list(folder)) ?? []).filter(name => name.endsWith('.jsonl'))
      const told = new Set<SessionId>()
      for (let index = 0; index < names.length; index += 1) {
        const name = names[index] ?? ''
        if (readTo.get(name) === null || (await readOn(name, told))) continue
        for (const id of rows.keys()) told.add(id)
        readTo.set(name, null)
        forget()
        index = -1
      }
      return told
    },
    rows: () => rows,
    names: () => names,
  }
}

export function rowLine(row: SessionRow, sealing: Sealing | undefined): Uint8Array {
  const text = JSON.stringify(row)
  const line = sealing ? Buffer.from(sealing.sealText(text), 'latin1') : seal(text.slice(0, -1))
  return Buffer.concat([line, Buffer.of(NEWLINE)])
}

function rowIn(line: Uint8Array, sealing: Sealing | undefined): unknown {
  if (!sealing) return unseal(line)
  const text = sealing.openText(Buffer.from(line).toString('latin1'))
  return text === null ? undefined : JSON.parse(text)
}
