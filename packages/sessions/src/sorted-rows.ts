/** Rows kept in the order of a listing, so that a page of 100,000 costs no sort and a search no second look at most. */
import { NO_MATCH, newestFirst, rankOf } from './listing-page.ts'
import type { ListPage, ListQuery, SessionRow } from './store.ts'

export interface SortedRows {
  set(row: SessionRow): void
  delete(id: string): void
  has(id: string): boolean
  all(): readonly SessionRow[]
  page(query: ListQuery): ListPage
}

/** `text`: what a search looks at, in small letters; made at the first search. */
type Entry = { row: SessionRow; text: string | null }

export function createSortedRows(): SortedRows {
  const entries = new Map<string, Entry>()
  let order: Entry[] = []
  /** Entries of `order` that are no longer the ones of the map, and those that are not in it yet. */
  let isStale = false

  function sorted(): readonly Entry[] {
    if (!isStale) return order
    const fresh = new Set(entries.values())
    // What was in order stays so: the sort then only puts the new ones in their places.
    order = order.filter(entry => fresh.delete(entry))
    order.push(...fresh)
    order.sort((a, b) => newestFirst(a.row, b.row))
    isStale = false
    return order
  }

  return {
    set(row) {
      entries.set(row.id, { row, text: null })
      isStale = true
    },
    delete(id) {
      if (entries.delete(id)) isStale = true
    },
    has: id => entries.has(id),
    all: () => sorted().map(({ row }) => row),
    page({ cwd, text = '', limit, offset = 0 }) {
      const all = sorted()
      const here = cwd === undefined ? all : all.filter(({ row }) => row.cwd === cwd)
      const found = text === '' ? here : ranked(here, text.toLowerCase())
      return { rows: found.slice(offset, offset + limit).map(({ row }) => row), total: found.length }
    },
  }
}

/** What was newest first stays so within a rank. */
function ranked(entries: readonly Entry[], text: string): Entry[] {
  const ranks: Entry[][] = Array.from({ length: NO_MATCH }, () => [])
  for (const entry of entries) {
    entry.text ??= [entry.row.title, entry.row.id, entry.row.cwd].join('\n').toLowerCase()
    if (entry.text.includes(text)) ranks[rankOf(entry.row, text)]?.push(entry)
  }
  return ranks.flat()
}
