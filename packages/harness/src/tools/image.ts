/** Knows images by their first bytes, never by name, and reads their size from the header without decoding (H36). Pure. */
export const MAX_IMAGE_BASE64_BYTES = 4.5 * 1024 * 1024 // what providers take
export const MAX_IMAGE_PIXELS = 64_000_000

/** `width` and `height` are null where the header is cut or broken. */
export type Image = {
  format: 'png' | 'jpeg' | 'gif' | 'webp' | 'bmp'
  width: number | null
  height: number | null
}

const MAX_JPEG_SEGMENTS = 1000

export function imageOf(bytes: Uint8Array): Image | null {
  const data = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  const has = (text: string, at = 0) => data.subarray(at, at + text.length).toString('latin1') === text
  const sized = (format: Image['format'], needed: number, size: () => [number, number]): Image => {
    const [width, height] = data.length >= needed ? size() : [null, null]
    return { format, width, height }
  }
  if (has('\x89PNG\r\n\x1a\n')) return sized('png', 24, () => [data.readUInt32BE(16), data.readUInt32BE(20)])
  if (has('GIF87a') || has('GIF89a'))
    return sized('gif', 10, () => [data.readUInt16LE(6), data.readUInt16LE(8)])
  if (has('\xff\xd8\xff')) return { format: 'jpeg', ...jpegSize(data) }
  if (has('RIFF') && has('WEBP', 8)) return { format: 'webp', ...webpSize(data) }
  // "BM" alone begins many a text: the zeros of the header must be there too.
  if (has('BM') && data.length >= 26 && data.readUInt32LE(6) === 0 && data.readUInt32LE(14) <= 124) {
    return sized('bmp', 26, () => [Math.abs(data.readInt32LE(18)), Math.abs(data.readInt32LE(22))])
  }
  return null
}

type Size = { width: number | null; height: number | null }
const UNKNOWN: Size = { width: null, height: null }

/** Walks the segments to the first start of frame. */
function jpegSize(data: Buffer): Size {
  let at = 2
  for (let count = 0; count < MAX_JPEG_SEGMENTS && at + 9 < data.length; count++) {
    if (data[at] !== 0xff) return UNKNOWN
    const marker = data[at + 1] ?? 0
    const isFill = marker === 0xff
    const isBare = marker === 0x01 || (marker >= 0xd0 && marker <= 0xd8)
    const isFrame = marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc
    if (isFrame) return { height: data.readUInt16BE(at + 5), width: data.readUInt16BE(at + 7) }
    at += isFill ? 1 : isBare ? 2 : 2 + data.readUInt16BE(at + 2)
  }
  return UNKNOWN
}

function webpSize(data: Buffer): Size {
  if (data.length < 30) return UNKNOWN
  const chunk = data.subarray(12, 16).toString('latin1')
  if (chunk === 'VP8X') return { width: 1 + data.readUIntLE(24, 3), height: 1 + data.readUIntLE(27, 3) }
  if (chunk === 'VP8 ')
    return { width: data.readUInt16LE(26) & 0x3fff, height: data.readUInt16LE(28) & 0x3fff }
  if (chunk !== 'VP8L') return UNKNOWN
  const bits = data.readUInt32LE(21)
  return { width: 1 + (bits & 0x3fff), height: 1 + ((bits >>> 14) & 0x3fff) }
}
