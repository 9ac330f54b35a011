/**
 * Names of files as bytes: a string with one character a byte, since a name of Linux need not be UTF-8. Its order is byte
 * order. Pure.
 */
import { visibleText } from '../visible-text.ts'

declare const byteText: unique symbol
export type ByteText = string & { readonly [byteText]: true }

const isByteText = (text: string): text is ByteText => !/[^\x00-\xff]/.test(text)

export function bytesFrom(bytes: Uint8Array): ByteText {
  return checked(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1'))
}

export function bytesOfText(text: string): ByteText {
  return checked(Buffer.from(text).toString('latin1'))
}

/** Of parts that are bytes already. */
export function joined(...parts: readonly ByteText[]): ByteText {
  return checked(parts.filter(part => part !== '').join('/'))
}

/** The text, or null where the bytes are not UTF-8. */
export function textOfBytes(bytes: ByteText): string | null {
  if (!/[\x80-\xff]/.test(bytes)) return bytes
  const text = Buffer.from(bytes, 'latin1').toString()
  return Buffer.from(text).toString('latin1') === bytes ? text : null
}

/** What is not UTF-8 is U+FFFD. */
export function asUtf8(bytes: ByteText): ByteText {
  return bytesOfText(Buffer.from(bytes, 'latin1').toString())
}

/** One line for a model: what is not UTF-8 is U+FFFD, a line break in a name is a picture of one. */
export function shownName(bytes: ByteText): string {
  return visibleText(Buffer.from(bytes, 'latin1').toString(), 'whole')
}

/** A path sorts by its parts, so what is in a directory stands behind it: `a`, `a/b`, `a-b`. */
export function byPath(a: { path: ByteText }, b: { path: ByteText }): number {
  const [first, second] = [a.path.replaceAll('/', '\0'), b.path.replaceAll('/', '\0')]
  return first < second ? -1 : first > second ? 1 : 0
}

export function partsOf(path: ByteText): ByteText[] {
  return path.split('/').map(checked)
}

export function nameOf(path: ByteText): ByteText {
  return checked(path.slice(path.lastIndexOf('/') + 1))
}

function checked(text: string): ByteText {
  return isByteText(text) ? text : bytesOfText(text)
}
