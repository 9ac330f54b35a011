/**
 * The folded compare of the edit engine: what of a line counts when the exact bytes were not found. NFKC, curly quotes,
 * dashes, exotic spaces and trailing blanks are folded; a map leads back to byte offsets, so the fold never supplies a
 * byte (H37). Pure.
 */

// A base character with its marks, or a run of Hangul jamo: the smallest pieces that NFKC composes within.
const CLUSTER = /[\u1100-\u11ff\ua960-\ua97c\ud7b0-\ud7fb]+|\P{M}\p{M}*|\p{M}+/gu
const CONFUSABLE = /[\u2018-\u201b\u201c-\u201f\u2010-\u2015\u2212\u1680\u180e]/g
const ASCII_ONLY = /^[\x00-\x7f]*$/

/** One line, without its ending, as it is compared. */
export function foldLine(line: string): string {
  if (ASCII_ONLY.test(line)) return withoutTrailingBlanks(line)
  return withoutTrailingBlanks(line.replace(CLUSTER, foldCluster))
}

/**
 * Byte offset in `line` of a position in its fold; null inside a piece that folds as a whole, so that no edit can begin
 * or end in the middle of an `ﬁ`.
 */
export function byteOffsetOfFold(line: string, position: number): number | null {
  if (ASCII_ONLY.test(line)) return position
  let folded = 0
  let bytes = 0
  for (const [cluster] of line.matchAll(CLUSTER)) {
    if (folded === position) return bytes
    folded += foldCluster(cluster).length
    bytes += Buffer.byteLength(cluster)
  }
  return folded === position ? bytes : null
}

/** True when the fold drops something at the end of this line. */
export function endsInBlanks(line: string): boolean {
  const folded = ASCII_ONLY.test(line) ? line : line.replace(CLUSTER, foldCluster)
  return withoutTrailingBlanks(folded).length < folded.length
}

function foldCluster(cluster: string): string {
  if (ASCII_ONLY.test(cluster)) return cluster
  return cluster.normalize('NFKC').replace(CONFUSABLE, plain)
}

function plain(char: string): string {
  const code = char.charCodeAt(0)
  if (code >= 0x2018 && code <= 0x201b) return "'"
  if (code >= 0x201c && code <= 0x201f) return '"'
  if (code === 0x1680 || code === 0x180e) return ' '
  return '-'
}

// A loop, since /[ \t]+$/ takes quadratic time on a line of many blanks.
function withoutTrailingBlanks(text: string): string {
  let end = text.length
  while (end > 0 && (text[end - 1] === ' ' || text[end - 1] === '\t')) end--
  return end === text.length ? text : text.slice(0, end)
}
