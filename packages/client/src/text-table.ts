/** Columns of text for a terminal or a pipe. Pure. */
import { columns, padded } from './transcript/visible.ts'

/** `right`: columns that are numbers. The first line is the head. */
export function textTable(
  lines: readonly (readonly string[])[],
  right: ReadonlySet<number> = new Set(),
): string {
  const count = Math.max(0, ...lines.map(line => line.length))
  const widths = Array.from({ length: count }, (_, column) =>
    Math.max(...lines.map(line => columns(line[column] ?? ''))),
  )
  return lines
    .map(line =>
      line
        .map((cell, column) => {
          const width = widths[column] ?? 0
          return right.has(column) ? padded('', width - columns(cell)) + cell : padded(cell, width)
        })
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}
