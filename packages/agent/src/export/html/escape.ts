/** Text as HTML that shows exactly that text: nothing in it is markup, and no character of it makes the page invalid. */
import { visible } from '@beige/client'

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}
/** Code points that no HTML document may contain. */
const NO_CHARACTERS = /\p{Noncharacter_Code_Point}/gu

/** Control characters and bidi overrides are shown by their number. */
export function escaped(text: string): string {
  return visible(text.toWellFormed())
    .replace(NO_CHARACTERS, char => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`)
    .replace(/[&<>"']/g, char => ENTITIES[char] ?? char)
}

export type Attributes = Readonly<Record<string, string | true | undefined>>

/** `inner` is HTML already; attribute values are text. */
export function element(name: string, attributes: Attributes, ...inner: readonly string[]): string {
  const shown = Object.entries(attributes).flatMap(([key, value]) =>
    value === undefined ? [] : [value === true ? ` ${key}` : ` ${key}="${escaped(value)}"`],
  )
  return `<${name}${shown.join('')}>${inner.join('')}</${name}>`
}
