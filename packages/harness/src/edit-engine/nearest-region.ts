/** What is there instead, when a search text is not: the nearest lines and the first difference, made visible. Pure. */
import { foldedFile } from './locate.ts'

const MAX_SHOWN_LINES = 8
const MAX_LINE_CHARS = 160
const MAX_COMPARED_LINES = 20_000
const MAX_VOTES_A_LINE = 16
const MIN_SIMILARITY = 0.4
const SNIPPET_CHARS = 24
const LOW_SURROGATE = /[\udc00-\udfff]/

export type NearestRegion = {
  fromLine: number
  toLine: number
  /** Already numbered and cut. */
  excerpt: string
  /** Null when all the lines that both have are equal. */
  difference: { line: number; column: number; file: string; wanted: string } | null
}

export function nearestRegion(original: Uint8Array, search: string): NearestRegion | null {
  const file = foldedFile(original)
  const wanted = search.split('\n')
  if (wanted.length > 1 && wanted.at(-1) === '') wanted.pop()
  const start = bestStart(file.folded, wanted)
  if (start === null) return null
  const from = Math.max(0, start)
  const to = Math.min(file.lines.length, start + wanted.length, from + MAX_SHOWN_LINES)
  const lineAt = (index: number) => file.textOf(index) ?? '(not UTF-8)'
  const numbered: string[] = []
  for (let index = from; index < to; index++) numbered.push(`${index + 1}\t${cut(lineAt(index))}`)
  return {
    fromLine: from + 1,
    toLine: to,
    excerpt: numbered.join('\n'),
    difference: firstDifference(wanted, start, file.lines.length, lineAt),
  }
}

const comparable = (line: string) => line.trim().replace(/\s+/g, ' ')

/** Index of the file's line that the first wanted line would stand on. */
function bestStart(folded: readonly string[], wanted: readonly string[]): number | null {
  const positions = new Map<string, number[]>()
  for (const [index, line] of wanted.entries()) {
    const key = comparable(line)
    const known = positions.get(key)
    if (key === '') continue
    if (!known) positions.set(key, [index])
    else if (known.length < MAX_VOTES_A_LINE) known.push(index)
  }
  const votes = new Map<number, number>()
  let best: { start: number; count: number } | null = null
  for (const [index, line] of folded.entries()) {
    for (const position of positions.get(comparable(line)) ?? []) {
      const count = (votes.get(index - position) ?? 0) + 1
      votes.set(index - position, count)
      if (!best || count > best.count) best = { start: index - position, count }
    }
  }
  return best ? best.start : mostSimilar(folded, wanted)
}

function mostSimilar(folded: readonly string[], wanted: readonly string[]): number | null {
  let probe = 0
  for (const [index, line] of wanted.entries())
    if (line.trim().length > (wanted[probe] ?? '').trim().length) probe = index
  const target = bigrams(comparable(wanted[probe] ?? ''))
  let best: { index: number; score: number } | null = null
  for (let index = 0; index < Math.min(folded.length, MAX_COMPARED_LINES); index++) {
    const score = similarity(target, bigrams(comparable(folded[index] ?? '')))
    if (score >= MIN_SIMILARITY && (!best || score > best.score)) best = { index, score }
  }
  return best ? best.index - probe : null
}

function bigrams(text: string): Set<string> {
  const found = new Set<string>()
  for (let at = 0; at + 2 <= Math.min(text.length, MAX_LINE_CHARS); at++) found.add(text.slice(at, at + 2))
  return found
}

/** Sørensen–Dice of two sets of bigrams. */
function similarity(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  if (a.size === 0 || b.size === 0) return 0
  let shared = 0
  for (const pair of a) if (b.has(pair)) shared++
  return (2 * shared) / (a.size + b.size)
}

function firstDifference(
  wanted: readonly string[],
  start: number,
  lineCount: number,
  lineAt: (index: number) => string,
): NearestRegion['difference'] {
  for (const [offset, expected] of wanted.entries()) {
    const index = start + offset
    if (index < 0) continue
    const actual = index < lineCount ? lineAt(index) : ''
    if (actual === expected) continue
    let at = 0
    while (at < actual.length && actual[at] === expected[at]) at++
    if (LOW_SURROGATE.test(actual[at] ?? '') || LOW_SURROGATE.test(expected[at] ?? ''))
      at = Math.max(0, at - 1)
    return { line: index + 1, column: at + 1, file: visible(actual, at), wanted: visible(expected, at) }
  }
  return null
}

/** A piece of `text` in which nothing that matters is invisible. */
function visible(text: string, from: number): string {
  const piece = Array.from(text.slice(from, from + 2 * SNIPPET_CHARS)).slice(0, SNIPPET_CHARS)
  if (piece.length === 0) return 'the end of the line'
  return `"${piece.map(escaped).join('')}"`
}

function escaped(char: string, index: number): string {
  if (char === '\t') return '\\t'
  if (char === '\r') return '\\r'
  if (char === ' ' || /^[\x21-\x7e]$/.test(char)) return char
  const code = `U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`
  if (/^[\p{Z}\p{C}\p{M}]$/u.test(char)) return code
  // The first character is the one that differs: it may only look like the wanted one.
  return index === 0 ? `${char}(${code})` : char
}

function cut(line: string): string {
  return line.length <= MAX_LINE_CHARS ? line : `${line.slice(0, MAX_LINE_CHARS).toWellFormed()}…`
}
