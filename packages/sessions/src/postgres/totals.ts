/**
 * How many sessions match a listing, kept for a moment: counting 100,000 rows costs more than the page, and who turns
 * pages asks for the same number again. Of what other processes change it may be `FRESH_MS` behind.
 */
import type { Clock } from '@beige/protocol'
import type { ListQuery } from '../store.ts'

const FRESH_MS = 2000
const MAX_KEPT = 100

export interface Totals {
  /** Null when it must be counted. */
  of(query: ListQuery): number | null
  /** Answers `total`. */
  keep(query: ListQuery, total: number): number
  /** This process changes how many there are. */
  forget(): void
}

export function createTotals(clock: Clock): Totals {
  const kept = new Map<string, { total: number; at: number }>()
  return {
    of(query) {
      const known = kept.get(keyOf(query))
      return known && clock.monotonic() - known.at < FRESH_MS ? known.total : null
    },
    keep(query, total) {
      if (kept.size >= MAX_KEPT) kept.clear()
      kept.set(keyOf(query), { total, at: clock.monotonic() })
      return total
    },
    forget: () => kept.clear(),
  }
}

function keyOf({ cwd, text }: ListQuery): string {
  return JSON.stringify([cwd ?? null, text ?? ''])
}
