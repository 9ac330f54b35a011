/** Where a search text is in a file: exact bytes first, the folded compare only when those are nowhere. Pure. */
import { byteOffsetOfFold, endsInBlanks, foldLine } from './fold.ts'
import { countBelow, type Line, linesOf, type Normalised } from './lines.ts'

export const MAX_PLACES = 100_000 // of one search text; a text that is at more places is not looked for further

const NOT_UTF8 = '\ud800' // a lone surrogate: no search text has one, so such a line is never found

/** Byte offsets in the original file. */
export type Span = { start: number; end: number }
/** All places up to one over `MAX_PLACES`, overlapping ones too: two that overlap are still two (H39). */
export type Located = { spans: Span[]; folded: boolean }

/** `search` is well-formed, not empty, and has `\n` endings only. */
export function locate(original: Uint8Array, normalised: Normalised, search: string): Located {
  const exact = exactPlaces(normalised, Buffer.from(search))
  if (exact.length > 0) return { spans: exact, folded: false }
  return { spans: foldedPlaces(foldedFile(original), search), folded: true }
}

function exactPlaces({ bytes, toOriginal }: Normalised, search: Buffer): Span[] {
  const spans: Span[] = []
  for (let at = bytes.indexOf(search); at >= 0; at = bytes.indexOf(search, at + 1)) {
    if (spans.length > MAX_PLACES) break
    spans.push({ start: toOriginal(at), end: toOriginal(at + search.length) })
  }
  return spans
}

export type FoldedFile = {
  lines: readonly Line[]
  /** Decoded line; null where it is not UTF-8, which the fold never touches. */
  textOf(index: number): string | null
  folded: readonly string[]
}

export function foldedFile(original: Uint8Array): FoldedFile {
  const lines = linesOf(original)
  const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  const textOf = (index: number) => {
    const line = lines[index]
    if (!line) return '' // behind the last ending
    try {
      return strict.decode(original.subarray(line.start, line.end))
    } catch {
      return null
    }
  }
  const folded = lines.map((_, index) => {
    const text = textOf(index)
    return text === null ? NOT_UTF8 : foldLine(text)
  })
  const last = lines.at(-1)
  if (!last || last.end < last.next) {
    lines.push({ start: original.length, end: original.length, next: original.length })
    folded.push('')
  }
  return { lines, textOf, folded }
}

function foldedPlaces(file: FoldedFile, search: string): Span[] {
  const wanted = search.split('\n')
  const pattern = wanted.map(foldLine).join('\n')
  if (pattern.trim() === '') return []
  // Blanks at the very end of the search text were folded away: they stand for the end of a line.
  const toLineEnd = endsInBlanks(wanted.at(-1) ?? '')
  const text = file.folded.join('\n')
  const starts: number[] = []
  let length = 0
  for (const line of file.folded) {
    starts.push(length)
    length += line.length + 1
  }

  const offsetOf = (position: number, edge: 'start' | 'end'): number | null => {
    const index = countBelow(starts, position + 1) - 1
    const line = file.lines[index]
    const column = position - (starts[index] ?? 0)
    if (!line) return null
    const atEnd = column === (file.folded[index] ?? '').length
    if (edge === 'start' && atEnd && pattern.startsWith('\n')) return line.end
    if (edge === 'end' && toLineEnd) return atEnd ? line.end : null
    const offset = byteOffsetOfFold(file.textOf(index) ?? '', column)
    return offset === null ? null : line.start + offset
  }

  const spans: Span[] = []
  for (let at = text.indexOf(pattern); at >= 0; at = text.indexOf(pattern, at + 1)) {
    if (spans.length > MAX_PLACES) break
    const start = offsetOf(at, 'start')
    const end = offsetOf(at + pattern.length, 'end')
    if (start !== null && end !== null) spans.push({ start, end })
  }
  return spans
}
