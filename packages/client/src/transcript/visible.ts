/**
 * Makes text from models and tools safe for a terminal: control bytes, escape sequences and bidi overrides are shown,
 * not sent (security.md, row 90). Tab and newline stay.
 */
const DANGEROUS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

export function visible(text: string): string {
  return text.replace(DANGEROUS, char => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** The first line, cut to `width` characters, with a mark where something is missing. */
export function oneLine(text: string, width: number): string {
  const flat = visible(text)
    .replace(/\s*\n\s*/g, ' ⏎ ')
    .replaceAll('\t', ' ')
    .trim()
  const chars = [...flat]
  return chars.length <= width ? flat : `${chars.slice(0, Math.max(1, width - 1)).join('')}…`
}
