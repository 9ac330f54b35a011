/** One page of rows: what the title matches first, then ids, then directories; newest first among equals. */
import type { ListPage, ListQuery, SessionRow } from './store.ts'

export function pageOf(rows: readonly SessionRow[], query: ListQuery): ListPage {
  const { cwd, limit, offset = 0 } = query
  const text = query.text?.toLowerCase() ?? ''
  const found = rows
    .filter(row => cwd === undefined || row.cwd === cwd)
    .map(row => ({ row, rank: rankOf(row, text) }))
    .filter(({ rank }) => rank < NO_MATCH)
    .sort((a, b) => a.rank - b.rank || newestFirst(a.row, b.row))
  return { rows: found.slice(offset, offset + limit).map(({ row }) => row), total: found.length }
}

export const NO_MATCH = 3

/** 0 for its title, 1 for its id, 2 for its directory; `text` in small letters. */
export function rankOf(row: SessionRow, text: string): number {
  if (row.title.toLowerCase().includes(text)) return 0
  if (row.id.toLowerCase().includes(text)) return 1
  return row.cwd.toLowerCase().includes(text) ? 2 : NO_MATCH
}

export function newestFirst(a: SessionRow, b: SessionRow): number {
  return b.updatedAt - a.updatedAt || (a.id < b.id ? 1 : -1)
}
