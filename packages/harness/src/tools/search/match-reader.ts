/**
 * Reads what `rg` and `grep` print, as it comes: `name NUL number : text`, with `-` for a line of context. Whatever the lines
 * are, it holds little of them.
 */
import { type ByteText, bytesFrom } from './byte-text.ts'

export const MAX_LINE_BYTES = 2100 // 500 characters of UTF-8 and some, so that a longer line is seen to be longer
const MAX_RECORD_BYTES = 256 * 1024
const NUL = 0
const LF = 0x0a

export type FoundLine = { path: ByteText; line: number; isMatch: boolean; text: Uint8Array }

export interface MatchReader {
  push(bytes: Uint8Array): FoundLine[]
}

/** `names` are those of the files in order where lines begin with a number, counted from 1, in place of a name. */
export function createMatchReader(names: readonly ByteText[] | null): MatchReader {
  let pending = Buffer.alloc(0)
  let skipping = false // a record was longer than any that is of use

  const record = (start: number, end: number): FoundLine | null => {
    const whole = pending.subarray(start, end)
    const mark = whole.indexOf(names ? 0x3a : NUL)
    const head = whole.subarray(0, mark)
    const rest = whole.subarray(mark + 1)
    const match = /^(\d+)([:-])/.exec(rest.subarray(0, 24).toString('latin1'))
    const path = names ? names[Number(head.toString('latin1')) - 1] : bytesFrom(stripped(head))
    if (mark < 0 || !match || path === undefined) return null
    const [front, number, sign] = match
    const text = Buffer.from(rest.subarray(front.length, front.length + MAX_LINE_BYTES))
    return { path, line: Number(number), isMatch: sign === ':', text }
  }

  /** Behind the record's last byte, or -1. A name may have a line break in it; a separator has no name. */
  const endOf = (start: number): number => {
    const isSeparator = pending[start] === 0x2d && pending[start + 1] === 0x2d && pending[start + 2] === LF
    if (names || isSeparator) return pending.indexOf(LF, start)
    const name = pending.indexOf(NUL, start)
    return name < 0 ? -1 : pending.indexOf(LF, name)
  }

  return {
    push(bytes) {
      const found: FoundLine[] = []
      pending = Buffer.concat([pending, bytes])
      let start = 0
      if (skipping) {
        const end = pending.indexOf(LF)
        skipping = end < 0
        start = skipping ? pending.length : end + 1
      }
      for (let end = endOf(start); end >= 0; end = endOf(start)) {
        const line = record(start, end)
        if (line) found.push(line)
        start = end + 1
      }
      pending = Buffer.from(pending.subarray(start))
      if (pending.length > MAX_RECORD_BYTES) {
        const line = record(0, pending.length)
        if (line) found.push(line)
        pending = Buffer.alloc(0)
        skipping = true
      }
      return found
    },
  }
}

function stripped(name: Buffer): Buffer {
  return name[0] === 0x2e && name[1] === 0x2f ? name.subarray(2) : name
}
