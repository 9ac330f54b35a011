/** Renders the rows of a benchmark as a table for people or as one JSON object for programs. */
import type { Row } from './bench.ts'

export function renderTable(rows: readonly Row[]): string {
  const columns = [...new Set(rows.flatMap(row => Object.keys(row)))]
  const cells = [columns, ...rows.map(row => columns.map(column => cellOf(row[column])))]
  const widths = columns.map((_, index) => Math.max(...cells.map(line => line[index]?.length ?? 0)))
  return cells
    .map(line => line.map((cell, index) => pad(cell, widths[index] ?? 0, index)).join('  '))
    .join('\n')
}

export function renderJson(bench: string, commit: string, rows: readonly Row[]): string {
  return JSON.stringify({ bench, commit, rows })
}

/** Two digits behind the point: more is noise. */
export function rounded(value: number): number {
  return Math.round(value * 100) / 100
}

function cellOf(value: string | number | undefined): string {
  if (value === undefined) return '–'
  return typeof value === 'number' ? String(rounded(value)) : value
}

function pad(cell: string, width: number, index: number): string {
  return index === 0 ? cell.padEnd(width) : cell.padStart(width)
}
