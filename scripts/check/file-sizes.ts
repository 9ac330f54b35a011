/** Fails on a source over the maximum and on a median over the limit (style: one reason to change a file). */
import type { Problem, Tree } from './tree.ts'

const MAX_LINES = 500
const MAX_MEDIAN_LINES = 150

type Size = { path: string; lines: number }

export function checkFileSizes(tree: Tree): Problem[] {
  const sizes = sizesOf(tree)
  const problems = sizes
    .filter(({ lines }) => lines > MAX_LINES)
    .map(({ path, lines }) => ({ path, says: `${lines} lines, at most ${MAX_LINES}` }))
  const median = medianOf(sizes)
  if (median <= MAX_MEDIAN_LINES) return problems
  return [
    ...problems,
    { path: '.', says: `the median file has ${median} lines, at most ${MAX_MEDIAN_LINES}` },
  ]
}

/** One line for the report: how many files, the median and the longest. */
export function describeFileSizes(tree: Tree): string {
  const sizes = sizesOf(tree)
  const longest = sizes.at(-1)
  return `${sizes.length} files, median ${medianOf(sizes)} lines, maximum ${longest?.lines ?? 0} (${longest?.path ?? 'none'})`
}

function sizesOf(tree: Tree): Size[] {
  return [...tree.files]
    .filter(([path]) => path.endsWith('.ts') || path.endsWith('.rs') || path.endsWith('.sh'))
    .map(([path, text]) => ({ path, lines: text.split('\n').length - 1 }))
    .sort((a, b) => a.lines - b.lines)
}

function medianOf(sizes: readonly Size[]): number {
  return sizes[Math.floor(sizes.length / 2)]?.lines ?? 0
}
