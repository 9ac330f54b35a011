/** Sums of requests, and a table of them for a terminal. Pure. */
import type { LedgerLine } from '@beige/models'
import { textTable } from '../text-table.ts'

export type Sums = {
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

export function emptySums(): Sums {
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

export function addTo(sums: Sums, line: LedgerLine): void {
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

/** The name to the left, numbers to the right; `~` where a part of them was estimated. */
export function usageTable(title: string, rows: readonly (readonly [string, Sums])[]): string {
  const lines = [[title, ...HEAD], ...rows.map(([name, one]) => [name, ...cellsOf(one)])]
  return textTable(lines, new Set(HEAD.keys().map(column => column + 1)))
}

function cellsOf(one: Sums): string[] {
  const tokens = [one.input, one.output, one.cacheRead, one.cacheWrite].map(count =>
    count.toLocaleString('en-US'),
  )
  const cost = `${one.estimated > 0 ? '~' : ''}$${(one.costNanoUsd / 1e9).toFixed(4)}`
  return [String(one.requests), String(one.failed), ...tokens, cost]
}
