/** How the page "Harness" has a model see lines, names and what is cut. */
import { text } from './file-tree.ts'

export const MAX_BYTES = 51_200 - 512 // the rest is for what is said of a cut

export function pictures(line: string): string {
  return Array.from(line, char => {
    const code = char.codePointAt(0) ?? 0
    if (code === 9) return char
    if (code < 0x20) return String.fromCodePoint(0x2400 + code)
    return code === 0x7f ? '␡' : code > 0x7f && code < 0xa0 ? '␦' : char
  }).join('')
}

export const shownName = (name: string) => pictures(text(name)).replaceAll('\t', '␉')

/** Without their endings; a last empty one is none. */
export function linesOf(bytes: Buffer): Buffer[] {
  const lines = bytes.toString('latin1').split('\n')
  if (lines.at(-1) === '') lines.pop()
  return lines.map(line => Buffer.from(line, 'latin1'))
}

export function withoutReturn(line: Buffer): Buffer {
  return line.at(-1) === 13 ? line.subarray(0, -1) : line
}

/** As many lines as a result may hold. */
export function fitting(lines: readonly string[], maxLines = Number.POSITIVE_INFINITY): string[] {
  let size = 0
  const shown: string[] = []
  for (const line of lines) {
    size += Buffer.byteLength(line) + 1
    if (size > MAX_BYTES || shown.length >= maxLines) break
    shown.push(line)
  }
  return shown
}

/** Characters, with a line break (which no line has) for each byte that is of none: no pattern matches it. */
export function searchable(line: Buffer): string {
  let found = ''
  for (let at = 0; at < line.length; ) {
    const length = [1, 2, 3, 4].find(size => isCharacter(line.subarray(at, at + size), size))
    found += length ? line.subarray(at, at + length).toString() : '\n'
    at += length ?? 1
  }
  return found
}

function isCharacter(bytes: Buffer, size: number): boolean {
  if (bytes.length !== size) return false
  try {
    return Array.from(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)).length === 1
  } catch {
    return false
  }
}
