/** Where entries hang and which one is the leaf: the one rule that fold and tree share. */
import { asEntryId, type EntryId } from '@beige/protocol'

export interface Places {
  /** Hangs `id` below `parent`, makes it the leaf, and answers the parent that it got. */
  add(id: EntryId, parent: EntryId | null): EntryId | null
  /** Moves the leaf; null begins anew. A place that is not there changes nothing. */
  move(target: string | null): void
  has(id: string): boolean
  readonly leaf: EntryId | null
  /** From the first entry to `id`, itself included; empty for null. */
  path(id: EntryId | null): EntryId[]
}

export function createPlaces(): Places {
  const parents = new Map<string, EntryId | null>()
  let newest: EntryId | null = null
  let leaf: EntryId | null = null
  return {
    add(id, parent) {
      // A parent that a damaged record took along: go on from what came before rather than show a short history.
      const placed = parent !== null && !parents.has(parent) ? newest : parent
      parents.set(id, placed)
      newest = id
      leaf = id
      return placed
    },
    move(target) {
      if (target === null || parents.has(target)) leaf = entryId(target)
    },
    has: id => parents.has(id),
    get leaf() {
      return leaf
    },
    path(id) {
      const path: EntryId[] = []
      // A parent always comes before its child, except in a log that somebody made up: then it ends, too.
      for (let at = id; at !== null && path.length <= parents.size; at = parents.get(at) ?? null)
        path.push(at)
      return path.reverse()
    },
  }
}

export function entryId(id: string | null): EntryId | null {
  return id === null ? null : asEntryId(id)
}
