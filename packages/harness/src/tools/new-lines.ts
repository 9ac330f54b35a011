/** Shows the lines that an edit made, with their numbers, so that its author sees what is there now. Pure. */
import type { Hunk } from '../edit-engine/index.ts'
import { cutText } from '../output/index.ts'

const MAX_SHOWN_BYTES = 4096
const MAX_LINE_CHARS = 400
const LF = 0x0a

export function newLinesOf(bytes: Uint8Array, hunks: readonly Hunk[]): string {
  const shown: string[] = []
  let size = 0
  let line = 1 // the number of the line that starts at `lineStart`
  let lineStart = 0
  let lastShown = 0
  for (const { newStart, newEnd } of hunks) {
    for (let at = bytes.indexOf(LF, lineStart); at >= 0 && at < newStart; at = bytes.indexOf(LF, lineStart)) {
      lineStart = at + 1
      line++
    }
    if (lastShown > 0 && line > lastShown + 1) shown.push('   …')
    // A hunk that became nothing still shows the line it is in.
    for (let first = true; first || lineStart < newEnd; first = false) {
      const found = bytes.indexOf(LF, lineStart)
      const end = found < 0 ? bytes.length : found
      if (line > lastShown && (lineStart < bytes.length || bytes.length === 0)) {
        const text = numbered(line, bytes.subarray(lineStart, end))
        size += Buffer.byteLength(text) + 1
        if (size > MAX_SHOWN_BYTES) return [...shown, '[… more new lines]'].join('\n')
        shown.push(text)
        lastShown = line
      }
      if (found < 0 || end >= newEnd) break
      lineStart = end + 1
      line++
    }
  }
  return shown.join('\n')
}

function numbered(line: number, bytes: Uint8Array): string {
  const text = Buffer.from(bytes).toString().replace(/\r$/, '')
  const cut =
    text.length > MAX_LINE_CHARS ? `${cutText(text.slice(0, MAX_LINE_CHARS), MAX_SHOWN_BYTES / 2)}…` : text
  return `${String(line).padStart(6)}\t${cut}`
}
