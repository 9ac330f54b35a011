/** The names that somebody may have meant. */
const MAX_NAMES = 3
const MAX_COMPARED_CHARS = 128 // a longer id is no typing mistake

/** The nearest names first; those within a third of the letters, or that hold the whole text. */
export function nearNames(wrong: string, names: Iterable<string>): string[] {
  const text = wrong.toLowerCase().slice(0, MAX_COMPARED_CHARS)
  const limit = Math.max(2, Math.floor(text.length / 3))
  return [...names]
    .map(name => {
      const other = name.toLowerCase()
      return { name, distance: text.length > 2 && other.includes(text) ? 0 : editDistance(text, other) }
    })
    .filter(({ distance }) => distance <= limit)
    .sort((a, b) => a.distance - b.distance || (a.name > b.name ? -1 : 1)) // of versions, the newest
    .slice(0, MAX_NAMES)
    .map(({ name }) => name)
}

/** For an error's text: ` (did you mean "a", "b"?)`, or nothing. */
export function didYouMean(names: readonly string[]): string {
  return names.length === 0 ? '' : ` (did you mean ${names.map(name => `"${name}"`).join(', ')}?)`
}

function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (const [i, charA] of [...a].entries()) {
    const row = [i + 1]
    for (const [j, charB] of [...b].entries()) {
      const swap = (previous[j] ?? 0) + (charA === charB ? 0 : 1)
      row.push(Math.min(swap, (previous[j + 1] ?? 0) + 1, (row[j] ?? 0) + 1))
    }
    previous = row
  }
  return previous[b.length] ?? 0
}
