/**
 * Makes text from models and tools safe for a terminal: control bytes, escape sequences and bidi overrides are shown,
 * not sent (security.md, row 90). Tab and newline stay.
 */
const DANGEROUS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}|[\u{20000}-\u{3fffd}]/u
const MAX_LINE_CHARS = 4000 // of what becomes one line; no terminal is as wide
const NO_WIDTH = /\p{Mn}|\p{Me}|[\u200b-\u200d]/u

export function visible(text: string): string {
  return text
    .replaceAll('\r\n', '\n')
    .replace(DANGEROUS, char => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** How many columns of a terminal a line takes; near enough for text that must not wrap. */
export function columns(text: string): number {
  let width = 0
  for (const char of text) width += columnsOf(char)
  return width
}

/** All of it on one line, cut to `width` columns, with a mark where something is missing. */
export function oneLine(text: string, width: number): string {
  const flat = visible(text.slice(0, MAX_LINE_CHARS))
    .replace(/\s*\n\s*/g, ' ⏎ ')
    .replaceAll('\t', ' ')
    .trim()
  if (columns(flat) <= width) return flat
  let kept = ''
  let room = Math.max(1, width - 1)
  for (const char of flat) {
    room -= columnsOf(char)
    if (room < 0) break
    kept += char
  }
  return `${kept}…`
}

/** Filled up with spaces to `width` columns. */
export function padded(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - columns(text)))
}

function columnsOf(char: string): number {
  if (char < '\u0300') return 1
  if (NO_WIDTH.test(char)) return 0
  return WIDE.test(char) ? 2 : 1
}
