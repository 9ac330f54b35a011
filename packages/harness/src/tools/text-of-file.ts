/** Whether the bytes of a file are text, and in which encoding. Pure. */

const BINARY_CHECK_BYTES = 8192

const KINDS: readonly (readonly [kind: string, magic: string, at?: number])[] = [
  ['an ELF program', '\x7fELF'],
  ['a zip archive', 'PK\x03\x04'],
  ['gzip data', '\x1f\x8b'],
  ['a PDF', '%PDF-'],
  ['an SQLite database', 'SQLite format 3\x00'],
  ['a WebAssembly module', '\x00asm'],
  ['xz data', '\xfd7zXZ\x00'],
  ['zstd data', '\x28\xb5\x2f\xfd'],
  ['bzip2 data', 'BZh'],
  ['a tar archive', 'ustar', 257],
  ['a Windows program', 'MZ'],
]

/** `bytes` are UTF-8 without its BOM, or nearly so: what is not UTF-8 in them is left to whoever shows them. */
export type DecodedText = { kind: 'text'; encoding: 'UTF-8' | 'UTF-16LE' | 'UTF-16BE'; bytes: Uint8Array }
export type Decoded = DecodedText | { kind: 'binary'; what: string }

export function decodeText(bytes: Uint8Array): Decoded {
  const utf16 = utf16Of(bytes)
  if (utf16) return utf16
  const start = bytes.subarray(0, BINARY_CHECK_BYTES)
  if (start.includes(0)) return { kind: 'binary', what: kindOf(start) }
  const hasBom = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf
  return { kind: 'text', encoding: 'UTF-8', bytes: hasBom ? bytes.subarray(3) : bytes }
}

/** Known by its BOM; a file that only begins like one is not. */
function utf16Of(bytes: Uint8Array): DecodedText | null {
  const isLittle = bytes[0] === 0xff && bytes[1] === 0xfe
  const isBig = bytes[0] === 0xfe && bytes[1] === 0xff
  if (!isLittle && !isBig) return null
  try {
    const text = new TextDecoder(isLittle ? 'utf-16le' : 'utf-16be', { fatal: true }).decode(bytes)
    return { kind: 'text', encoding: isLittle ? 'UTF-16LE' : 'UTF-16BE', bytes: Buffer.from(text) }
  } catch {
    return null
  }
}

function kindOf(start: Uint8Array): string {
  const latin = Buffer.from(start).toString('latin1')
  for (const [kind, magic, at = 0] of KINDS) if (latin.startsWith(magic, at)) return kind
  return 'binary data'
}
