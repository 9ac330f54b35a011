/**
 * Numbers the lines of a file as they come, cut to what a result may hold; the memory it needs does not depend on the
 * file. Pure but for its own state.
 */
import { MAX_BYTES } from '../output/index.ts'
import { charStartBefore, MARKER_BYTES } from '../output/limits.ts'
import { countControls, visibleText } from './visible-text.ts'

export const MAX_LINE_BYTES = 4000

const LF = 0x0a
const CR = 0x0d
const REPLACEMENT = Buffer.from('\ufffd')

export type LineWindow = {
  lines: readonly string[]
  /** Number of the last line shown; `firstLine - 1` when there is none. */
  lastLine: number
  /** True when there was more than fits. */
  isFull: boolean
  badBytes: number
  controls: number
}

export interface LineWindowBuilder {
  /** False: it is full, and nothing more is of use. */
  push(bytes: Uint8Array): boolean
  finish(): LineWindow
}

/** `bytes` pushed start at line `firstLine`. */
export function createLineWindow(firstLine: number, maxLines: number): LineWindowBuilder {
  const lines: string[] = []
  const line = Buffer.alloc(MAX_LINE_BYTES + 4) // one character more than is shown
  let kept = 0
  let total = 0
  let last = 0
  let size = 0
  let isFull = false
  let badBytes = 0
  let controls = 0

  const addToLine = (bytes: Buffer) => {
    kept += bytes.copy(line, kept)
    total += bytes.length
    last = bytes.at(-1) ?? last
  }

  const endLine = () => {
    const length = last === CR ? total - 1 : total
    const isCut = length > MAX_LINE_BYTES
    const shown = line.subarray(0, isCut ? charStartBefore(line.subarray(0, kept), MAX_LINE_BYTES) : length)
    const decoded = shown.toString()
    const visible = visibleText(decoded)
    const cut = isCut ? `… [line cut, ${length} bytes]` : ''
    const text = `${String(firstLine + lines.length).padStart(6)}\t${visible}${cut}`
    const bytes = Buffer.byteLength(text) + 1
    if (isFull || size + bytes > MAX_BYTES - MARKER_BYTES) isFull = true
    else {
      lines.push(text)
      size += bytes
      badBytes += badBytesIn(shown, decoded)
      if (visible !== decoded) controls += countControls(decoded)
    }
    kept = 0
    total = 0
    last = 0
  }

  return {
    push(bytes) {
      const source = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
      for (let from = 0; from < source.length && !isFull; ) {
        if (lines.length >= maxLines) isFull = true
        const at = source.indexOf(LF, from)
        addToLine(source.subarray(from, at < 0 ? source.length : at))
        if (at < 0) break
        endLine()
        from = at + 1
      }
      return !isFull
    },
    finish() {
      if (total > 0 && !isFull) endLine()
      return { lines, lastLine: firstLine + lines.length - 1, isFull, badBytes, controls }
    },
  }
}

/** Offset of the first byte of a line; null when there are not that many. */
export function startOfLine(bytes: Uint8Array, line: number): number | null {
  let start = 0
  for (let number = 1; number < line; number++) {
    const at = bytes.indexOf(LF, start)
    if (at < 0) return null
    start = at + 1
  }
  return start < bytes.length ? start : null
}

/** A last line without an ending counts, an empty one behind the last ending does not. */
export function countLines(bytes: Uint8Array): number {
  let count = 0
  for (let at = bytes.indexOf(LF); at >= 0; at = bytes.indexOf(LF, at + 1)) count++
  return bytes.length > 0 && bytes.at(-1) !== LF ? count + 1 : count
}

function badBytesIn(bytes: Buffer, decoded: string): number {
  let marks = 0
  for (let at = decoded.indexOf('\ufffd'); at >= 0; at = decoded.indexOf('\ufffd', at + 1)) marks++
  if (marks === 0) return 0
  let genuine = 0
  for (let at = bytes.indexOf(REPLACEMENT); at >= 0; at = bytes.indexOf(REPLACEMENT, at + 3)) genuine++
  return bytes.length - (Buffer.byteLength(decoded) - 3 * (marks - genuine))
}
