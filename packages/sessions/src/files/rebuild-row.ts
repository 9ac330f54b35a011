/** A session's row out of the first and the last records of its log, for an index that does not have it. */
import { join } from 'node:path'
import type { SessionId, SessionRecord } from '@beige/protocol'
import type { Disk } from '../outside.ts'
import { segmentEpochs, segmentName } from '../segment-lines.ts'
import { type ParsedSegment, parseSegment } from '../segment-parse.ts'
import type { SessionLines } from '../session-lines.ts'
import { emptyRow, moveRow } from '../session-row.ts'
import type { SessionRow } from '../store.ts'

const HEAD_BYTES = 64 * 1024
const TAIL_BYTES = 64 * 1024

export type LogStart = { records: readonly SessionRecord[]; isMade: boolean; epochs: readonly number[] }

/** The first records of a log; `isMade` is true when anything beside headers was ever written to it. */
export async function readLogStart(
  disk: Disk,
  folder: string,
  lines: SessionLines,
): Promise<LogStart | null> {
  const names = await disk.list(folder)
  if (!names) return null
  const epochs = segmentEpochs(names)
  for (const epoch of epochs) {
    const head = await disk.readHead(join(folder, segmentName(epoch)), HEAD_BYTES)
    if (!head) continue
    const parsed = parseSegment(epoch, head, undefined, lines)
    const isMade = parsed.pieces.some(piece => piece.kind === 'record' || piece.kind === 'bad')
    // One line longer than what was read is a record, too.
    if (isMade || head.length === HEAD_BYTES) return { records: recordsOf(parsed), isMade: true, epochs }
  }
  return { records: [], isMade: false, epochs }
}

export async function rebuildRow(
  disk: Disk,
  folder: string,
  id: SessionId,
  lines: SessionLines,
): Promise<SessionRow | null> {
  const start = await readLogStart(disk, folder, lines)
  if (!start?.isMade) return null
  const { row } = start.records.reduce(moveRow, emptyRow(id))
  const updatedAt = Math.max(row.updatedAt, await lastAt(disk, folder, start.epochs, lines))
  return { ...row, updatedAt, messageCount: null }
}

async function lastAt(
  disk: Disk,
  folder: string,
  epochs: readonly number[],
  lines: SessionLines,
): Promise<number> {
  for (const epoch of epochs.toReversed()) {
    const tail = await disk.readTail(join(folder, segmentName(epoch)), TAIL_BYTES)
    const last = tail && recordsOf(parseSegment(epoch, tail, undefined, lines)).at(-1)
    if (last) return last.at
  }
  return 0
}

function recordsOf(segment: ParsedSegment): SessionRecord[] {
  return segment.pieces.flatMap(piece => (piece.kind === 'record' ? [piece.record] : []))
}
