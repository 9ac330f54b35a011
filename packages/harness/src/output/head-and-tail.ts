/**
 * Two fixed buffers over an endless text: its first `HEAD_BYTES` and its newest `TAIL_BYTES`, with a count of what is
 * missing between them. Offsets are of the whole text: [0, headEnd) is in the head, [tailStart, end) in the ring.
 */
import { Buffer } from 'node:buffer'
import {
  charStartAfter,
  charStartBefore,
  countText,
  HEAD_BYTES,
  HEAD_LINES,
  MARKER_BYTES,
  MAX_BYTES,
  MAX_LINES,
  sizeText,
} from './limits.ts'

const TAIL_BYTES = MAX_BYTES - HEAD_BYTES - MARKER_BYTES
const STATUS_LINES = 4 // kept free for the marker and for lines on how it ended
const TAIL_LINES = MAX_LINES - HEAD_LINES - STATUS_LINES
const MAX_RAGGED_BYTES = 4096 // a cut goes to a line's edge when that costs no more than this
const LF = 0x0a

export type Shown = { text: string; missingBytes: number; missingLines: number }

export interface HeadAndTail {
  append(bytes: Buffer): void
  /** Forgets the unfinished last line; what of it was dropped already is not missing, it was overwritten. */
  dropLine(): void
  newest(maxBytes: number): string
  /** Without the last newline. `advice` tells in the marker how to see what is missing. */
  shown(advice: string): Shown
}

export function createHeadAndTail(): HeadAndTail {
  const head = Buffer.alloc(HEAD_BYTES)
  const tail = Buffer.alloc(TAIL_BYTES)
  let headEnd = 0
  let headLines = 0
  let tailStart = 0
  let end = 0
  let lineStart = 0
  let lines = 0 // line ends so far

  const append = (bytes: Buffer) => {
    const taken = headEnd === end ? appendToHead(bytes) : 0
    if (taken < bytes.length) appendToTail(bytes.subarray(taken))
  }

  const appendToHead = (bytes: Buffer): number => {
    let take = headLines < HEAD_LINES ? Math.min(bytes.length, HEAD_BYTES - headEnd) : 0
    for (let at = bytes.indexOf(LF); at >= 0 && at < take; at = bytes.indexOf(LF, at + 1)) {
      headLines++
      if (headLines === HEAD_LINES) take = at + 1
    }
    bytes.copy(head, headEnd, 0, take)
    advance(bytes.subarray(0, take))
    headEnd = end
    tailStart = end
    return take
  }

  const appendToTail = (bytes: Buffer) => {
    advance(bytes)
    const newest = bytes.subarray(Math.max(0, bytes.length - TAIL_BYTES))
    let at = (end - newest.length) % TAIL_BYTES
    for (let from = 0; from < newest.length; ) {
      const copied = newest.copy(tail, at, from, Math.min(newest.length, from + TAIL_BYTES - at))
      from += copied
      at = (at + copied) % TAIL_BYTES
    }
    tailStart = Math.max(tailStart, end - TAIL_BYTES)
  }

  const advance = (bytes: Buffer) => {
    for (let at = bytes.indexOf(LF); at >= 0; at = bytes.indexOf(LF, at + 1)) {
      lines++
      lineStart = end + at + 1
    }
    end += bytes.length
  }

  const tailBytes = (): Buffer => {
    const length = end - tailStart
    const at = tailStart % TAIL_BYTES
    const first = tail.subarray(at, Math.min(TAIL_BYTES, at + length))
    return Buffer.concat([first, tail.subarray(0, length - first.length)])
  }

  return {
    append,
    dropLine() {
      end = lineStart
      headEnd = Math.min(headEnd, end)
      tailStart = Math.min(tailStart, end)
    },
    newest(maxBytes) {
      const last = tailBytes()
      const isWhole = tailStart === headEnd && last.length < maxBytes
      const all = isWhole ? Buffer.concat([head.subarray(0, headEnd), last]) : last
      return all.subarray(charStartAfter(all, Math.max(0, all.length - maxBytes))).toString()
    },
    shown(advice) {
      const first = head.subarray(0, headEnd)
      const last = tailBytes()
      if (tailStart === headEnd && lines <= MAX_LINES - STATUS_LINES) {
        const text = withoutLastBreak(Buffer.concat([first, last]).toString())
        return { text, missingBytes: 0, missingLines: 0 }
      }
      const above = first.subarray(0, cutEnd(first))
      const below = last.subarray(cutStart(last))
      const missingBytes = end - above.length - below.length
      const missingLines = lines - countLines(above) - countLines(below)
      const parts = [above.toString(), marker(missingBytes, missingLines, advice), below.toString()]
      const text = parts
        .map(withoutLastBreak)
        .filter(part => part !== '')
        .join('\n')
      return { text, missingBytes, missingLines }
    },
  }
}

function marker(bytes: number, lines: number, advice: string): string {
  const what = lines > 0 ? `${countText(lines, 'line')} (${sizeText(bytes)})` : sizeText(bytes)
  return `[… ${what} left out here; ${advice} …]`
}

/** Where the head ends: at a line's end if one is near, else between two characters. */
function cutEnd(head: Buffer): number {
  const lineEnd = head.lastIndexOf(LF) + 1
  if (head.length - lineEnd <= MAX_RAGGED_BYTES) return lineEnd
  const start = charStartBefore(head, head.length - 1)
  const lead = head[start] ?? 0
  const length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4
  return start + length <= head.length ? head.length : start
}

/** Where the tail starts: behind a line's end if one is near, else between two characters; not over `TAIL_LINES`. */
function cutStart(tail: Buffer): number {
  const lineStart = tail.indexOf(LF) + 1
  let start = lineStart > 0 && lineStart <= MAX_RAGGED_BYTES ? lineStart : charStartAfter(tail, 0)
  for (let over = countLines(tail.subarray(start)) - TAIL_LINES; over > 0; over--) {
    start = tail.indexOf(LF, start) + 1
  }
  return start
}

function countLines(bytes: Buffer): number {
  let count = 0
  for (let at = bytes.indexOf(LF); at >= 0; at = bytes.indexOf(LF, at + 1)) count++
  return count
}

const withoutLastBreak = (text: string) => (text.endsWith('\n') ? text.slice(0, -1) : text)
