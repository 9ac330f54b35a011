/**
 * The edit engine: one for `edit`, `patch` and whatever else changes a part of a text (design page "Harness", Edit
 * engine). It works on bytes, locates every edit in the original, and gives back either all of them or none. Pure.
 *
 * @example
 * const result = applyEdits(bytes, [{ oldText: 'now < exp', newText: 'now < exp * 1000', replaceAll: false }])
 * if (result.ok) await exec.writeFile(path, result.bytes, signal, { ifMatch: etag })
 */
import { createHash } from 'node:crypto'
import { lineNumberAt, normalise } from './lines.ts'
import { locate, MAX_PLACES, type Span } from './locate.ts'
import { type NearestRegion, nearestRegion } from './nearest-region.ts'
import { replacementFor } from './replace.ts'

export type { NearestRegion } from './nearest-region.ts'

export const MAX_NAMED_PLACES = 10 // line numbers in a `not_unique`

export type Edit = { oldText: string; newText: string; replaceAll: boolean }

/** Where an edit was (`start`, `end` of the original) and what is there now (of the result). */
export type Hunk = { start: number; end: number; newStart: number; newEnd: number }

/** `edit` is the index of the one that failed. */
export type EditProblem =
  | { code: 'empty_search'; edit: number }
  | { code: 'no_change'; edit: number }
  | { code: 'no_match'; edit: number; nearest: NearestRegion | null }
  | { code: 'not_unique'; edit: number; count: number; lines: readonly number[] }
  | { code: 'too_many'; edit: number; max: number }
  | { code: 'overlap'; edit: number; other: number; line: number }
  | { code: 'binary'; what: string }
  | { code: 'internal' }

export type EditResult =
  | { ok: true; bytes: Uint8Array; hunks: readonly Hunk[]; folded: boolean }
  | { ok: false; problem: EditProblem }

type Replacement = Span & { edit: number; bytes: Buffer }

export function applyEdits(original: Uint8Array, edits: readonly Edit[]): EditResult {
  const what = notText(original)
  if (what) return failed({ code: 'binary', what })
  const normalised = normalise(original)
  const replacements: Replacement[] = []
  let anyFolded = false
  for (const [edit, { oldText, newText, replaceAll }] of edits.entries()) {
    if (oldText === '') return failed({ code: 'empty_search', edit })
    if (oldText === newText) return failed({ code: 'no_change', edit })
    const search = oldText.replace(/\r\n/g, '\n').toWellFormed()
    // A model that writes `\r\n` on both sides means "end of line"; on the new side alone it means these two bytes.
    const wanted = (oldText.includes('\r\n') ? newText.replace(/\r\n/g, '\n') : newText).toWellFormed()
    const { spans, folded } = locate(original, normalised, search)
    const first = spans[0]
    if (!first) return failed({ code: 'no_match', edit, nearest: nearestRegion(original, search) })
    if (spans.length > 1 && !replaceAll) {
      const lines = spans.slice(0, MAX_NAMED_PLACES).map(span => lineNumberAt(original, span.start))
      return failed({ code: 'not_unique', edit, count: spans.length, lines })
    }
    if (spans.length > MAX_PLACES) return failed({ code: 'too_many', edit, max: MAX_PLACES })
    anyFolded ||= folded
    for (const span of withoutOverlaps(spans)) {
      replacements.push({
        ...span,
        edit,
        bytes: replacementFor(original, span, search, wanted, folded),
      })
    }
  }
  replacements.sort((a, b) => a.start - b.start || a.end - b.end)
  for (const [index, next] of replacements.entries()) {
    const before = replacements[index - 1]
    if (!before || before.end <= next.start) continue
    const line = lineNumberAt(original, next.start)
    return failed({ code: 'overlap', edit: next.edit, other: before.edit, line })
  }
  return spliced(original, replacements, anyFolded)
}

/** Why the file is no text that can be edited, or null. */
function notText(bytes: Uint8Array): string | null {
  const [first, second] = bytes
  if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)) return 'UTF-16 text'
  return bytes.subarray(0, 8192).includes(0) ? 'a binary file' : null
}

function withoutOverlaps(spans: readonly Span[]): Span[] {
  const kept: Span[] = []
  let end = 0
  for (const span of spans) {
    if (span.start < end) continue
    kept.push(span)
    end = span.end
  }
  return kept
}

function spliced(original: Uint8Array, replacements: readonly Replacement[], folded: boolean): EditResult {
  const pieces: Uint8Array[] = []
  const hunks: Hunk[] = []
  let from = 0
  let length = 0
  for (const { start, end, bytes } of replacements) {
    const untouched = original.subarray(from, start)
    const newStart = length + untouched.length
    pieces.push(untouched, bytes)
    length = newStart + bytes.length
    hunks.push({ start, end, newStart, newEnd: length })
    from = end
  }
  pieces.push(original.subarray(from))
  const bytes = Buffer.concat(pieces)
  if (bytes.equals(original)) return failed({ code: 'no_change', edit: 0 })
  const before = outsideHash(original, hunks, 'start', 'end')
  if (outsideHash(bytes, hunks, 'newStart', 'newEnd') !== before) return failed({ code: 'internal' })
  return { ok: true, bytes, hunks, folded }
}

/** Of all bytes outside the hunks, with their places: a byte that moved from one gap to another is a difference. */
function outsideHash(
  bytes: Uint8Array,
  hunks: readonly Hunk[],
  start: 'start' | 'newStart',
  end: 'end' | 'newEnd',
): string {
  const hash = createHash('sha256')
  let from = 0
  for (const hunk of hunks) {
    const gap = bytes.subarray(from, hunk[start])
    hash.update(`${gap.length}:`).update(gap)
    from = hunk[end]
  }
  return hash.update('end:').update(bytes.subarray(from)).digest('hex')
}

const failed = (problem: EditProblem): EditResult => ({ ok: false, problem })
