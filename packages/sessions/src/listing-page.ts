/** One page of rows, newest first. */
import type { SessionRow } from './store.ts'

export type ListQuery = { cwd?: string; limit: number; offset?: number }

export function pageOf(
  rows: readonly SessionRow[],
  query: ListQuery,
): { rows: readonly SessionRow[]; total: number } {
  const { cwd, limit, offset = 0 } = query
  const found = rows.filter(row => cwd === undefined || row.cwd === cwd).sort(newestFirst)
  return { rows: found.slice(offset, offset + limit), total: found.length }
}

function newestFirst(a: SessionRow, b: SessionRow): number {
  return b.updatedAt - a.updatedAt || (a.id < b.id ? 1 : -1)
}
