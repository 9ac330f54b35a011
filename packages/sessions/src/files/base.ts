/**
 * Gathers a log that is spread over many segments into the newest: all lines before it byte for byte, damaged ones too,
 * then `base_end`. Older segments go only when that is durable and the fence held once more.
 */
import { join } from 'node:path'
import type { SessionRecord } from '@beige/protocol'
import type { LogView } from '../log-view.ts'
import type { Disk } from '../outside.ts'
import { BASE_END, segmentName } from '../segment-lines.ts'
import { type Piece, parseSegment } from '../segment-parse.ts'
import type { SessionLines } from '../session-lines.ts'
import type { SegmentWriter } from './segment-writer.ts'

export const MAX_SEGMENTS = 8

/**
 * False when it could not be written: then the older segments stay what they are. `repaired`: what does not belong to the
 * history is left out, so it must be in quarantine before.
 */
export async function writeBase(
  writer: SegmentWriter,
  view: LogView,
  what: 'all' | 'repaired',
  lines: SessionLines,
): Promise<boolean> {
  const isWanted = what === 'all' ? isHistory : belongsTo(view)
  const copied = view.parts.flatMap(({ epoch, end, bytes }) =>
    parseSegment(epoch, bytes, end, lines)
      .pieces.filter(isWanted)
      .map(piece => withoutNewline(bytes, piece)),
  )
  const isWritten = await writer.writeLines([...copied, Buffer.from(BASE_END)])
  if (isWritten) writer.forgetSeals()
  return isWritten
}

/** Lowest first. What can not be removed is no history either and goes at a later opening. */
export async function removeSegments(disk: Disk, folder: string, epochs: readonly number[]): Promise<void> {
  try {
    for (const epoch of [...epochs].sort((a, b) => a - b)) await disk.remove(join(folder, segmentName(epoch)))
  } catch {
    // see above
  }
}

function isHistory(piece: Piece): boolean {
  return piece.kind === 'record' || piece.kind === 'bad'
}

/** Each record of the history once: a second copy of it, or one of a fenced owner, is damage. */
function belongsTo(view: LogView): (piece: Piece) => boolean {
  const key = ({ seq, epoch, prev }: SessionRecord) => `${seq} ${epoch} ${prev}`
  const left = new Set(view.records.map(key))
  return piece => piece.kind === 'record' && left.delete(key(piece.record))
}

function withoutNewline(bytes: Uint8Array, piece: Piece): Uint8Array {
  const end = piece.offset + piece.length
  return bytes.subarray(piece.offset, bytes[end - 1] === 0x0a ? end - 1 : end)
}
