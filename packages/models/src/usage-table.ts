/** Sums of requests, and the cells of a table of them. Pure. */
import type { LedgerLine } from './ledger.ts'

export type UsageSums = {
  requests: number
  /** Those that gave no answer. */
  failed: number
  input: number
  output: number
  cacheRead: number
  cacheWrite: number
  costNanoUsd: number
  /** How many were counted by characters, because the provider gave no number. */
  estimated: number
}

export function emptySums(): UsageSums {
  return {
    requests: 0,
    failed: 0,
    input: 0,
    output: 0,
    cacheRead: 0,
    cacheWrite: 0,
    costNanoUsd: 0,
    estimated: 0,
  }
}

export function addTo(sums: UsageSums, line: LedgerLine): void {
  sums.requests++
  if (line.end !== 'done') sums.failed++
  sums.input += line.input
  sums.output += line.output
  sums.cacheRead += line.cacheRead
  sums.cacheWrite += line.cacheWrite
  sums.costNanoUsd += line.costNanoUsd
  if (line.estimated === true) sums.estimated++
}

const HEAD = ['requests', 'failed', 'input', 'output', 'cache read', 'cache write', 'cost']

/** Renders lines of cells, the first of which is the head; `right`: columns of numbers. */
export type RenderTable = (lines: readonly (readonly string[])[], right: ReadonlySet<number>) => string

/** The name to the left, numbers to the right; `~` where a part of them was estimated. */
export function usageTable(
  title: string,
  rows: readonly (readonly [string, UsageSums])[],
  render: RenderTable,
): string {
  const lines = [[title, ...HEAD], ...rows.map(([name, one]) => [name, ...cellsOf(one)])]
  return render(lines, new Set(HEAD.keys().map(column => column + 1)))
}

function cellsOf(one: UsageSums): string[] {
  const tokens = [one.input, one.output, one.cacheRead, one.cacheWrite].map(count =>
    count.toLocaleString('en-US'),
  )
  const cost = `${one.estimated > 0 ? '~' : ''}$${(one.costNanoUsd / 1e9).toFixed(4)}`
  return [String(one.requests), String(one.failed), ...tokens, cost]
}
