/** What requests used and cost, out of a ledger: summed by whatever is asked for, as tables for people or as JSON. */
import type { LedgerFile, LedgerLine } from './ledger.ts'
import { readLedger } from './ledger.ts'
import { addTo, emptySums, type RenderTable, type UsageSums, usageTable } from './usage-table.ts'

/** By what lines are summed; null: the line is in no row of it. */
export type UsageGroup = {
  title: string
  /** Of the JSON. */
  name: string
  keyOf(line: LedgerLine): string | null
  order: 'cost' | 'name' | 'first'
  /** Of a table; the JSON has all. */
  maxShown?: number
}

export const BY_MODEL: UsageGroup = {
  title: 'model',
  name: 'models',
  keyOf: line => `${line.provider}/${line.model}`,
  order: 'cost',
}
export const BY_DAY: UsageGroup = {
  title: 'day (UTC)',
  name: 'days',
  keyOf: line => line.ts.slice(0, 10),
  order: 'name',
}

export type UsageReport = {
  total: UsageSums
  groups: readonly { group: UsageGroup; rows: readonly (readonly [string, UsageSums])[] }[]
  /** Lines that were torn or are none of ours. */
  skipped: number
}

/** `isTaken` leaves lines out, e.g. of other days. */
export async function readUsage(
  file: LedgerFile,
  groups: readonly UsageGroup[],
  isTaken: (line: LedgerLine) => boolean = () => true,
): Promise<UsageReport> {
  const total = emptySums()
  const maps = groups.map(group => ({ group, sums: new Map<string, UsageSums>() }))
  const { skipped } = await readLedger(file, line => {
    if (!isTaken(line)) return
    addTo(total, line)
    for (const { group, sums } of maps) {
      const key = group.keyOf(line)
      if (key !== null) addTo(sumsOf(sums, key), line)
    }
  })
  return {
    total,
    skipped,
    groups: maps.map(({ group, sums }) => ({ group, rows: ordered(group, [...sums]) })),
  }
}

/** One table a group that has rows, and the total. */
export function usageText({ total, groups }: UsageReport, render: RenderTable): string {
  const tables = groups
    .filter(({ rows }) => rows.length > 0)
    .map(({ group, rows }) => {
      const shown = group.maxShown === undefined ? rows : rows.slice(-group.maxShown)
      return usageTable(
        shown.length < rows.length ? `${group.title}, the newest ${shown.length}` : group.title,
        shown,
        render,
      )
    })
  return [...tables, usageTable('', [['total', total]], render)].join('\n\n')
}

/** In the names that the wire has for them. */
export function usageJson({ total, groups }: UsageReport): Record<string, unknown> {
  const lists = groups.map(({ group, rows }) => [
    group.name,
    rows.map(([name, one]) => ({ name, ...shown(one) })),
  ])
  return { total: shown(total), ...Object.fromEntries(lists) }
}

function ordered(group: UsageGroup, rows: (readonly [string, UsageSums])[]) {
  if (group.order === 'cost') return rows.sort(([, a], [, b]) => b.costNanoUsd - a.costNanoUsd)
  return group.order === 'name' ? rows.sort(([a], [b]) => (a < b ? -1 : 1)) : rows
}

function sumsOf(sums: Map<string, UsageSums>, name: string): UsageSums {
  const found = sums.get(name) ?? emptySums()
  sums.set(name, found)
  return found
}

function shown(one: UsageSums) {
  return {
    requests: one.requests,
    failed: one.failed,
    input_tokens: one.input,
    output_tokens: one.output,
    cache_read_tokens: one.cacheRead,
    cache_write_tokens: one.cacheWrite,
    cost_usd: one.costNanoUsd / 1e9,
    estimated: one.estimated,
  }
}
