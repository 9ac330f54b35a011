/** The bytes that take a hunk's place. The new text is literal (H38); lines that an edit left alone keep theirs. Pure. */
import { diffArrays } from 'diff/lib/diff/array.js'
import { endingNear, linesOf } from './lines.ts'
import type { Span } from './locate.ts'

const MAX_ALIGN_EDITS = 4000 // lines; beyond it all lines of the new text count as changed

/** `search` is the edit's old text with `\n` endings; `newText` is as it was given, or with `\n` endings too. */
export function replacementFor(
  original: Uint8Array,
  span: Span,
  search: string,
  newText: string,
  folded: boolean,
): Buffer {
  const ending = endingNear(original, span.start)
  const old = original.subarray(span.start, span.end)
  const kept = folded || hasMixedEndings(old) ? alignedWith(old, search, newText, ending) : null
  return kept ?? Buffer.from(withEnding(newText, ending))
}

function withEnding(text: string, ending: '\n' | '\r\n'): string {
  return ending === '\n' ? text : text.replace(/\r?\n/g, '\r\n')
}

function hasMixedEndings(bytes: Uint8Array): boolean {
  let kinds = 0
  for (const line of linesOf(bytes)) if (line.next > line.end) kinds |= line.next - line.end
  return kinds === 3
}

function alignedWith(old: Uint8Array, search: string, newText: string, ending: '\n' | '\r\n'): Buffer | null {
  const lines = linesOf(old)
  const last = lines.at(-1)
  if (!last || last.next > last.end) lines.push({ start: old.length, end: old.length, next: old.length })
  const before = search.split('\n')
  const after = newText.split(/\r?\n/)
  if (before.length !== lines.length) return null
  const changes = diffArrays(before, after, { maxEditLength: MAX_ALIGN_EDITS })
  if (!changes) return null

  const pieces: { text: Uint8Array; ending: Uint8Array }[] = []
  const newEnding = Buffer.from(ending)
  let index = 0
  for (const { added, removed, value } of changes) {
    if (added) for (const text of value) pieces.push({ text: Buffer.from(text), ending: newEnding })
    else if (removed) index += value.length
    else {
      for (const _ of value) {
        const line = lines[index++]
        if (!line) return null
        const own = old.subarray(line.end, line.next)
        pieces.push({ text: old.subarray(line.start, line.end), ending: own.length > 0 ? own : newEnding })
      }
    }
  }
  const isLast = (at: number) => at === pieces.length - 1
  return Buffer.concat(
    pieces.flatMap((piece, at) => (isLast(at) ? [piece.text] : [piece.text, piece.ending])),
  )
}
