/** The names that a mistyped one most likely meant. Pure. */

const MAX_DISTANCE = 2 // edits; more is a guess, not a correction

/** Up to `count` of `names` within two edits of `word`, nearest first; a name that `word` is a part of counts too. */
export function nearest(word: string, names: Iterable<string>, count = 3): string[] {
  const scored: { name: string; distance: number }[] = []
  for (const name of names) {
    const distance = editDistance(word.toLowerCase(), name.toLowerCase())
    const limit = Math.min(MAX_DISTANCE, Math.max(1, Math.floor(name.length / 2)))
    if (distance <= limit) scored.push({ name, distance })
    else if (word.length >= 3 && name.toLowerCase().includes(word.toLowerCase()))
      scored.push({ name, distance: 3 })
  }
  scored.sort((a, b) => a.distance - b.distance || (a.name < b.name ? -1 : 1))
  return scored.slice(0, count).map(entry => entry.name)
}

/** Optimal string alignment distance: insert, delete, replace, swap of neighbours cost 1 each. */
function editDistance(a: string, b: string): number {
  let older: number[] = []
  let old = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (let row = 1; row <= a.length; row++) {
    const fresh = [row]
    for (let column = 1; column <= b.length; column++) {
      const same = a[row - 1] === b[column - 1]
      let best = Math.min(
        at(old, column) + 1,
        at(fresh, column - 1) + 1,
        at(old, column - 1) + (same ? 0 : 1),
      )
      if (row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]) {
        best = Math.min(best, at(older, column - 2) + 1)
      }
      fresh.push(best)
    }
    older = old
    old = fresh
  }
  return at(old, b.length)
}

const at = (row: readonly number[], column: number): number => row[column] ?? Number.POSITIVE_INFINITY
