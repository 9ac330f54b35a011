/** Cuts a segment's bytes into lines and says of each what it is. Never throws: what can not be read is a `bad` piece. */
import type { SessionRecord } from '@beige/protocol'
import { decodeRecord, lineHash, MAX_RECORD_BYTES, SUM_BYTES, SUM_KEY } from './record-line.ts'
import { BASE_END, decodeHeader, RELEASED, type SegmentHeader } from './segment-lines.ts'

/** `length` counts the newline where there is one. */
export type Piece = { offset: number; length: number } & (
  | { kind: 'record'; record: SessionRecord; hash: string }
  | { kind: 'header'; header: SegmentHeader }
  | { kind: 'base_end' }
  | { kind: 'released' }
  | { kind: 'bad' }
)

export type ParsedSegment = {
  epoch: number
  bytes: Uint8Array
  pieces: readonly Piece[]
  /** Behind the last newline. */
  wholeEnd: number
}

const NEWLINE = 0x0a

/**
 * Reads `bytes` up to their seal, which stands behind a newline. Without a seal a last line that has no newline is no
 * piece: it may be in the making.
 */
export function parseSegment(epoch: number, bytes: Uint8Array, sealedEnd?: number): ParsedSegment {
  const end = Math.min(sealedEnd ?? bytes.length, bytes.length)
  const pieces: Piece[] = []
  let offset = 0
  while (offset < end) {
    const newline = bytes.indexOf(NEWLINE, offset)
    if (newline < 0 || newline >= end) break
    pieces.push(...piecesOf(bytes, offset, newline, 1))
    offset = newline + 1
  }
  if (offset < end && end === sealedEnd) {
    pieces.push(...piecesOf(bytes, offset, end, 0))
    offset = end
  }
  return { epoch, bytes, pieces, wholeEnd: offset }
}

/** `newlineBytes`: 0 where the newline of the last line is damaged itself. */
function piecesOf(bytes: Uint8Array, offset: number, end: number, newlineBytes: number): Piece[] {
  const whole = read(bytes, offset, end, newlineBytes)
  return whole ? [whole] : salvage(bytes, offset, end, newlineBytes)
}

function read(bytes: Uint8Array, start: number, end: number, newlineBytes: number): Piece | null {
  const line = bytes.subarray(start, end)
  const place = { offset: start, length: end - start + newlineBytes }
  if (line.length <= Math.max(RELEASED.length, BASE_END.length)) {
    const text = Buffer.from(line).toString('latin1')
    if (text === RELEASED) return { kind: 'released', ...place }
    if (text === BASE_END) return { kind: 'base_end', ...place }
  }
  const record = decodeRecord(line)
  if (record) return { kind: 'record', ...place, record, hash: lineHash(line) }
  const header = decodeHeader(line)
  return header ? { kind: 'header', ...place, header } : null
}

const STARTS = ['{"seq":', '{"type":"segment"'].map(text => Buffer.from(text))
const END = Buffer.from(SUM_KEY)
const MAX_TRIES = 256 // of one bad line; a line of nothing but beginnings must not cost more than this many checksums

/**
 * A damaged newline joins two lines that are whole themselves. Text inside a record can not look like a whole line: its
 * quotes are escaped, and a nested object has no checksum that fits.
 */
function salvage(bytes: Uint8Array, offset: number, lineEnd: number, newlineBytes: number): Piece[] {
  const line = Buffer.from(bytes.buffer, bytes.byteOffset + offset, lineEnd - offset)
  const pieces: Piece[] = []
  let covered = 0
  let tries = 0
  for (let start = nextStart(line, 0); start >= 0; start = nextStart(line, Math.max(start + 1, covered))) {
    for (let sum = line.indexOf(END, start); sum >= 0; sum = line.indexOf(END, sum + 1)) {
      if (++tries > MAX_TRIES) break
      const end = sum + SUM_BYTES
      if (end > line.length || end - start > MAX_RECORD_BYTES) break
      const piece = read(line, start, end, end === line.length ? newlineBytes : 0)
      if (!piece) continue
      if (start > covered) pieces.push({ kind: 'bad', offset: offset + covered, length: start - covered })
      pieces.push({ ...piece, offset: offset + start })
      covered = end
      break
    }
    if (tries > MAX_TRIES) break
  }
  if (covered < line.length) {
    pieces.push({ kind: 'bad', offset: offset + covered, length: line.length - covered + newlineBytes })
  }
  return pieces
}

function nextStart(line: Buffer, from: number): number {
  const found = STARTS.map(start => line.indexOf(start, from)).filter(at => at >= 0)
  return found.length === 0 ? -1 : Math.min(...found)
}
