/**
 * Whether the keys that are here open a log, asked before anybody becomes its owner: who has not the keys would take all
 * of it for damaged. Cheap: one line of each key is opened.
 */
import { join } from 'node:path'
import type { SessionId } from '@beige/protocol'
import type { Disk } from '../outside.ts'
import { segmentEpochs, segmentName } from '../segment-lines.ts'
import { checkReadable, kidOf, type ReadLine, type SessionLines } from '../session-lines.ts'

const NEWLINE = 0x0a

/** Throws `no_key`, `wrong_seal` and `not_sealed`, as reading it would. */
export async function checkKeys(
  disk: Disk,
  folder: string,
  id: SessionId,
  lines: SessionLines,
): Promise<void> {
  const opened = new Set<string | null>()
  const found: ReadLine[] = []
  for (const epoch of segmentEpochs((await disk.list(folder)) ?? [])) {
    for (const line of linesIn((await disk.read(join(folder, segmentName(epoch)))) ?? new Uint8Array(0))) {
      const kid = kidOf(line)
      const read = opened.has(kid) ? null : lines.read(line)
      if (!read) continue
      found.push(read)
      if (read.kind === 'record') opened.add(kid)
    }
  }
  checkReadable(id, found)
}

/** Whole lines, without their newlines. */
export function* linesIn(bytes: Uint8Array): Iterable<Uint8Array> {
  let start = 0
  for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, start)) {
    yield bytes.subarray(start, end)
    start = end + 1
  }
}
