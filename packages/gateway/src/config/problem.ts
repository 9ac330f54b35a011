/** What can be wrong with a configuration, and how it is said: one line each, all at once (H100). */
import type { Place } from '@beige/protocol'

/** `key`: the mistake is the name itself, else its value. */
export type Problem = { place: Place; at: 'key' | 'value'; text: string; suggestion?: string }
export type Position = { line: number; column: number }
export type Located = { position: Position; path: string; text: string; suggestion?: string }

const MAX_PAD = 48 // columns; a longer path moves its own line only

/** `agents.scout.tools[1]`; a name that is no plain word is quoted. */
export function placeText(place: Place): string {
  let text = ''
  for (const step of place) {
    if (typeof step === 'number') text += `[${step}]`
    else if (/^[\w$-]+$/.test(step)) text += text === '' ? step : `.${step}`
    else text += `[${JSON.stringify(step)}]`
  }
  return text
}

/** Lines of `FILE:LINE:COL  path.to.key  what is wrong  (did you mean "port"?)`, in the order of the file. */
export function problemLines(fileName: string, problems: readonly Located[]): string[] {
  const sorted = [...problems].sort(
    (a, b) => a.position.line - b.position.line || a.position.column - b.position.column,
  )
  const rows = sorted.map(problem => ({
    where: `${fileName}:${problem.position.line}:${problem.position.column}`,
    path: problem.path,
    text: problem.suggestion ? `${problem.text} (did you mean "${problem.suggestion}"?)` : problem.text,
  }))
  const whereWidth = Math.max(...rows.map(row => row.where.length))
  const pathWidth = Math.min(MAX_PAD, Math.max(...rows.map(row => row.path.length)))
  return rows.map(row =>
    oneLine(`${row.where.padEnd(whereWidth)}  ${row.path.padEnd(pathWidth)}  ${row.text}`),
  )
}

/** `3 errors, nothing was started.` */
export function countText(count: number, consequence: string): string {
  return `${count} error${count === 1 ? '' : 's'}, ${consequence}.`
}

// A name or value in a file must not forge a line or drive a terminal.
function oneLine(text: string): string {
  return text.replace(
    /[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g,
    char => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
