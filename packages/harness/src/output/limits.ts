/** How much of a text a model may see (design page "Harness", Output). Sizes are bytes of UTF-8. */
import { Buffer } from 'node:buffer'

export const MAX_LINES = 2000
export const MAX_BYTES = 51_200 // whichever is reached first, marker included
export const HEAD_LINES = 200 // of a command's output that is cut in its middle
export const HEAD_BYTES = 10_240
export const MARKER_BYTES = 512 // kept free for the marker and for a last line on how it ended

/** `812B`, `4.1KB`, `2.0MB`: of 1024. */
export function sizeText(bytes: number): string {
  if (bytes < 1024) return `${bytes}B`
  const units = ['KB', 'MB', 'GB', 'TB']
  let size = bytes / 1024
  let unit = 0
  while (size >= 1024 && unit < units.length - 1) {
    size /= 1024
    unit++
  }
  return `${size.toFixed(1)}${units[unit]}`
}

/** `1,234`, or with a noun `1 line`, `1,234 lines`. */
export function countText(count: number, noun?: string): string {
  const number = count.toLocaleString('en-US')
  return noun === undefined ? number : `${number} ${noun}${count === 1 ? '' : 's'}`
}

/** At most `maxBytes` of `text`, never half a character. */
export function cutText(text: string, maxBytes: number): string {
  if (text.length * 3 <= maxBytes) return text
  const bytes = Buffer.from(text)
  return bytes.length <= maxBytes ? text : bytes.subarray(0, charStartBefore(bytes, maxBytes)).toString()
}

/** The last offset at or before `offset` where a character begins. */
export function charStartBefore(bytes: Uint8Array, offset: number): number {
  let at = offset
  while (at > 0 && at < bytes.length && isContinuation(bytes[at])) at--
  return at
}

/** The first offset at or after `offset` where a character begins. */
export function charStartAfter(bytes: Uint8Array, offset: number): number {
  let at = offset
  while (at < bytes.length && isContinuation(bytes[at])) at++
  return at
}

const isContinuation = (byte: number | undefined) => byte !== undefined && (byte & 0xc0) === 0x80
