/**
 * Two views of a file's bytes: its lines, each with its own ending, and its bytes with every `\r\n` as `\n` (what a
 * search text is compared with) with the way back to the original offsets. Pure.
 */

const LF = 0x0a
const CR = 0x0d

/** `end` is behind the content, `next` behind the ending; equal for a last line without one. */
export type Line = { start: number; end: number; next: number }

/** A last line that is empty is not a line. */
export function linesOf(bytes: Uint8Array): Line[] {
  const lines: Line[] = []
  for (let start = 0; start < bytes.length; ) {
    const found = bytes.indexOf(LF, start)
    const next = found < 0 ? bytes.length : found + 1
    const end = found < 0 ? next : found > start && bytes[found - 1] === CR ? found - 1 : found
    lines.push({ start, end, next })
    start = next
  }
  return lines
}

/** The number, from 1, of the line that `offset` is in. */
export function lineNumberAt(bytes: Uint8Array, offset: number): number {
  let count = 1
  for (let at = bytes.indexOf(LF); at >= 0 && at < offset; at = bytes.indexOf(LF, at + 1)) count++
  return count
}

/**
 * The ending that new lines of a hunk get: the hunk's first, else that of its line, else that of the line before, else
 * `\n`.
 */
export function endingNear(bytes: Uint8Array, start: number): '\n' | '\r\n' {
  let at = bytes.indexOf(LF, start)
  if (at < 0) at = bytes.lastIndexOf(LF, Math.max(0, start - 1))
  return at > 0 && bytes[at - 1] === CR ? '\r\n' : '\n'
}

export type Normalised = { bytes: Buffer; toOriginal(offset: number): number }

export function normalise(original: Uint8Array): Normalised {
  const source = Buffer.from(original.buffer, original.byteOffset, original.length)
  const breaks: number[] = [] // where, in the normalised bytes, a `\n` stands that was `\r\n`
  const pieces: Buffer[] = []
  let from = 0
  for (let at = source.indexOf('\r\n'); at >= 0; at = source.indexOf('\r\n', at + 2)) {
    pieces.push(source.subarray(from, at))
    breaks.push(at - breaks.length)
    from = at + 1
  }
  if (breaks.length === 0) return { bytes: source, toOriginal: offset => offset }
  pieces.push(source.subarray(from))
  return { bytes: Buffer.concat(pieces), toOriginal: offset => offset + countBelow(breaks, offset) }
}

/** How many of the ascending `values` are below `limit`. */
export function countBelow(values: readonly number[], limit: number): number {
  let low = 0
  let high = values.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((values[middle] ?? 0) < limit) low = middle + 1
    else high = middle
  }
  return low
}
