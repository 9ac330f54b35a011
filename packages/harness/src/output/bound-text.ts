/** Bounds a text that is already there: lists and files keep their head, the output of programs head and tail. Pure. */
import { Buffer } from 'node:buffer'
import { createHeadAndTail } from './head-and-tail.ts'
import { countText, cutText, MARKER_BYTES, MAX_BYTES, MAX_LINES, sizeText } from './limits.ts'

const NOTE_LINES = 8 // a tool's own notes at the end of a full text are not what gets cut

/** At most `MAX_LINES` or `MAX_BYTES`. `advice` says in the marker how to see what is missing. */
export function boundText(text: string, keep: 'head' | 'head_and_tail', advice: string): string {
  const bytes = Buffer.byteLength(text)
  const lines = countBreaks(text) + 1
  if (bytes <= MAX_BYTES && lines <= MAX_LINES + NOTE_LINES) return text
  if (keep === 'head_and_tail') {
    const kept = createHeadAndTail()
    kept.append(Buffer.from(text))
    return kept.shown(advice).text
  }
  const top = firstLines(text, MAX_LINES - 1)
  const head = cutText(top, MAX_BYTES - MARKER_BYTES)
  const lineEnd = head.lastIndexOf('\n')
  const shown = head.length < top.length && lineEnd > head.length / 2 ? head.slice(0, lineEnd) : head
  const missing = bytes - Buffer.byteLength(shown)
  return `${shown}\n[… ${countText(lines - countBreaks(shown) - 1, 'more line')} (${sizeText(missing)}) left out; ${advice}]`
}

function firstLines(text: string, count: number): string {
  let end = -1
  for (let line = 0; line < count; line++) {
    end = text.indexOf('\n', end + 1)
    if (end < 0) return text
  }
  return text.slice(0, end)
}

function countBreaks(text: string): number {
  let count = 0
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) count++
  return count
}
