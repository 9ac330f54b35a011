/** Cuts a segment's bytes into lines and says of each what it is. Never throws: what can not be read is a `bad` piece. */
import type { SessionRecord } from '@beige/protocol'
import { MAX_RECORD_BYTES, SUM_BYTES, SUM_KEY } from './record-line.ts'
import { BASE_END, decodeHeader, RELEASED, type SegmentHeader } from './segment-lines.ts'
import { plainLines, type ReadLine, SEALED_START, type SessionLines } from './session-lines.ts'

/** `length` counts the newline where there is one. */
export type Piece = { offset: number; length: number } & (
  | { kind: 'record'; record: SessionRecord; hash: string }
  | { kind: 'header'; header: SegmentHeader }
  | { kind: 'base_end' }
  | { kind: 'released' }
  /** `found`: a whole line that can not be read here; absent where the bytes are damaged. */
  | { kind: 'bad'; found?: ReadLine }
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
export function parseSegment(
  epoch: number,
  bytes: Uint8Array,
  sealedEnd?: number,
  lines: SessionLines = plainLines,
): ParsedSegment {
  const cut = (start: number, end: number, newlineBytes: number) =>
    piecesOf({ bytes, lines }, start, end, newlineBytes)
  const end = Math.min(sealedEnd ?? bytes.length, bytes.length)
  const pieces: Piece[] = []
  let offset = 0
  while (offset < end) {
    const newline = bytes.indexOf(NEWLINE, offset)
    if (newline < 0 || newline >= end) break
    pieces.push(...cut(offset, newline, 1))
    offset = newline + 1
  }
  if (offset < end && end === sealedEnd) {
    pieces.push(...cut(offset, end, 0))
    offset = end
  }
  return { epoch, bytes, pieces, wholeEnd: offset }
}

type Source = { bytes: Uint8Array; lines: SessionLines }

/** `newlineBytes`: 0 where the newline of the last line is damaged itself. */
function piecesOf(source: Source, offset: number, end: number, newlineBytes: number): Piece[] {
  const whole = read(source, offset, end, newlineBytes)
  return whole ? [whole] : salvage(source, offset, end, newlineBytes)
}

function read({ bytes, lines }: Source, start: number, end: number, newlineBytes: number): Piece | null {
  const line = bytes.subarray(start, end)
  const place = { offset: start, length: end - start + newlineBytes }
  if (line.length <= Math.max(RELEASED.length, BASE_END.length)) {
    const text = Buffer.from(line).toString('latin1')
    if (text === RELEASED) return { kind: 'released', ...place }
    if (text === BASE_END) return { kind: 'base_end', ...place }
  }
  const found = lines.read(line)
  if (found?.kind === 'record') return { ...found, ...place }
  if (found) return { kind: 'bad', found, ...place }
  const header = decodeHeader(line)
  return header ? { kind: 'header', ...place, header } : null
}

const STARTS = ['{"seq":', '{"type":"segment"', SEALED_START].map(text => Buffer.from(text))
const END = Buffer.from(SUM_KEY)
const MAX_TRIES = 256 // of one bad line; a line of nothing but beginnings must not cost more than this many checksums

/**
 * A damaged newline joins two lines that are whole themselves. Text inside a record can not look like a whole line: its
 * quotes are escaped, and a nested object has no checksum that fits.
 */
function salvage(source: Source, offset: number, lineEnd: number, newlineBytes: number): Piece[] {
  const { bytes } = source
  const line = Buffer.from(bytes.buffer, bytes.byteOffset + offset, lineEnd - offset)
  const part = { ...source, bytes: line }
  const pieces: Piece[] = []
  let covered = 0
  let tries = 0
  for (let start = nextStart(line, 0); start >= 0; start = nextStart(line, Math.max(start + 1, covered))) {
    for (const end of endsOf(line, start)) {
      if (++tries > MAX_TRIES) break
      if (start === 0 && end === line.length) continue // as a whole it was tried before
      const piece = read(part, start, end, end === line.length ? newlineBytes : 0)
      if (!piece || piece.kind === 'bad') continue
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

/** Where a line that begins at `start` may end. */
function endsOf(line: Buffer, start: number): Iterable<number> {
  return line[start] === OPENING ? sumEnds(line, start) : sealedEnds(line, start)
}

const OPENING = '{'.charCodeAt(0)

function* sumEnds(line: Buffer, start: number): Iterable<number> {
  for (let sum = line.indexOf(END, start); sum >= 0; sum = line.indexOf(END, sum + 1)) {
    const end = sum + SUM_BYTES
    if (end > line.length || end - start > MAX_RECORD_BYTES) return
    yield end
  }
}

const SEALED_REST = /[^A-Za-z0-9_-]/

/** At the first byte that is none of its own, or where the next line begins, with what was its newline in between or not. */
function* sealedEnds(line: Buffer, start: number): Iterable<number> {
  const colon = line.indexOf(':', start)
  if (colon < 0) return
  const rest = line.toString('latin1', colon + 1).search(SEALED_REST)
  const stop = rest < 0 ? line.length : colon + 1 + rest
  yield stop
  yield stop - 1
  const next = line.indexOf(SEALED_START, colon)
  if (next < 0) return
  yield next - 1
  yield next
}
