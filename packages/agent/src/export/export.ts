/** `agent export`: a session as a page for people, as plain records, or as a session of pi. */
import { open } from 'node:fs/promises'
import { resolve } from 'node:path'
import { visible } from '@beige/client'
import { messageOf, type SessionId, type SessionRecord } from '@beige/protocol'
import { fail } from '../errors.ts'
import type { ProcessWorld } from '../process-world.ts'
import { type PlaceOptions, withSession } from '../sessions/place.ts'
import { piLines } from './as-pi.ts'
import { sessionHtml } from './html/page.ts'

export const EXPORT_FORMATS = ['html', 'jsonl', 'pi'] as const
export type ExportFormat = (typeof EXPORT_FORMATS)[number]
export type ExportOptions = PlaceOptions & { format?: ExportFormat }

const FILE_MODE = 0o600

/** `out` `-`: to stdout. Without it a new file in the current directory. */
export async function exportCommand(
  name: string,
  out: string | undefined,
  raw: ExportOptions,
  world: ProcessWorld,
): Promise<number> {
  const format = raw.format ?? 'html'
  return withSession(name, raw, world, async ({ id, store }) => {
    const text = exported(format, id, await store.read(id), world.clock.now())
    if (out === '-') {
      world.stdout.write(text)
      return 0
    }
    const seconds = Math.floor(world.clock.now() / 1000)
    const given = out ?? `session-${seconds}.${format === 'html' ? 'html' : 'jsonl'}`
    const path = resolve(world.cwd, given)
    // A name of our own must not take the place of a file that is there.
    await writeExport(path, text, out === undefined ? 'wx' : 'w')
    world.stdout.write(raw.json === true ? `${JSON.stringify({ path, format })}\n` : `${visible(path)}\n`)
    return 0
  })
}

export function exported(
  format: ExportFormat,
  id: SessionId,
  records: readonly SessionRecord[],
  now: number,
): string {
  switch (format) {
    case 'html':
      return sessionHtml(id, records, now)
    case 'pi':
      return lines(piLines(id, records))
    case 'jsonl':
      return lines(records.map(record => JSON.stringify(record.type === 'unknown' ? record.raw : record)))
    default:
      return format satisfies never
  }
}

const lines = (all: readonly string[]) => all.map(line => `${line}\n`).join('')

/** For its owner alone. Throws `export`. */
export async function writeExport(path: string, text: string, flag: 'w' | 'wx'): Promise<void> {
  try {
    await using file = await open(path, flag, FILE_MODE)
    await file.writeFile(text)
  } catch (error) {
    throw fail('export', { path, reason: messageOf(error) }, error)
  }
}
