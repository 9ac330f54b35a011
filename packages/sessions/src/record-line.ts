/**
 * The line of one record: made once, canonical by construction, and read strictly from bytes (design page "Sessions",
 * Records). `prev` chains a line to the one before; `sum` lets each line vouch for itself, so that one flipped bit costs
 * that line and no other, also the last one (docs/decisions/session-log-lines.md).
 */
import { hash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { envelope, type RecordBody, recordBody, type SessionRecord } from '@beige/protocol'
import { compile } from '@earendil-works/pi-schema'

/** Of one line without its newline; longer ones are neither written nor read. */
export const MAX_RECORD_BYTES = 32 * 1024 * 1024
/** No record line is shorter: its envelope alone is longer. */
export const MIN_RECORD_BYTES = 100
const ENVELOPE_MAX_BYTES = 256
export const FIRST_PREV = '0'.repeat(32)

export type EncodedRecord = { line: Uint8Array; hash: string; record: SessionRecord }
export type Position = { seq: number; epoch: number; prev: string; at: number }

const envelopeSchema = compile(envelope)
const bodySchema = compile(recordBody)
const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** A body as it will be in the log: its text, and what a reader will make of that text. */
export type PreparedBody = { text: string; value: RecordBody }

/**
 * Copies `body`, so that later changes to it change nothing. A text instead says why it can not be written; a body that
 * would be read back as unknown is one of these.
 */
export function prepareBody(body: RecordBody): PreparedBody | string {
  if ('seq' in body || 'epoch' in body || 'prev' in body || 'at' in body || 'sum' in body) {
    return 'a field of the envelope is in the body'
  }
  const text = JSON.stringify(body)
  if (Buffer.byteLength(text) > MAX_RECORD_BYTES - ENVELOPE_MAX_BYTES) {
    return `it is longer than ${MAX_RECORD_BYTES} bytes`
  }
  const value = parseJson(text)
  if (bodySchema.check(value)) return { text, value }
  const [error] = bodySchema.errors(value)
  return error ? `${error.path}: ${error.message}` : 'its type is not known'
}

/** `line` without its newline, the hash of it, and the record as any reader will see it. */
export function encodeRecord(body: PreparedBody, position: Position): EncodedRecord {
  const { text, record } = plainRecord(body, position)
  const line = seal(text.slice(0, -1))
  return { line, hash: lineHash(line), record }
}

/** The object of a record as text, without a checksum. */
export function plainRecord(body: PreparedBody, position: Position): { text: string; record: SessionRecord } {
  const { seq, epoch, prev, at } = position
  const text = `{"seq":${seq},"epoch":${epoch},"prev":"${prev}","at":${at},${body.text.slice(1)}`
  return { text, record: { seq, epoch, prev, at, ...body.value } }
}

/** Null when the bytes are not exactly a line that was written as one. */
export function decodeRecord(line: Uint8Array): SessionRecord | null {
  return checkedRecord(unseal(line))
}

/** The record of a text that `plainRecord` made; null for any other. */
export function recordOf(text: Uint8Array): SessionRecord | null {
  try {
    return checkedRecord(parseJson(strictUtf8.decode(text)))
  } catch {
    return null // bytes that are no text or no JSON are damage, which the caller names
  }
}

function checkedRecord(value: unknown): SessionRecord | null {
  if (!envelopeSchema.check(value)) return null
  // The type alone decides: bytes are as they were written, so an unknown shape comes from another version.
  if (bodySchema.check(value)) return value
  const { seq, epoch, prev, at } = value
  return { seq, epoch, prev, at, type: 'unknown', raw: value }
}

export function lineHash(line: Uint8Array): string {
  return hash('sha256', line, 'hex').slice(0, 32)
}

/** Closes an object whose text is `opened` (without its brace) with the checksum of that text. */
export function seal(opened: string): Uint8Array {
  const bytes = Buffer.from(opened, 'utf8')
  return Buffer.concat([bytes, Buffer.from(`${SUM_KEY}${checksum(bytes)}"}`, 'latin1')])
}

/** The object of a sealed line without its `sum`; undefined when the bytes are not what was written. */
export function unseal(line: Uint8Array): unknown {
  const end = line.length - SUM_BYTES
  if (end <= 0 || line.length > MAX_RECORD_BYTES) return undefined
  const tail = Buffer.from(line.buffer, line.byteOffset + end, SUM_BYTES).toString('latin1')
  const opened = line.subarray(0, end)
  if (tail !== `${SUM_KEY}${checksum(opened)}"}`) return undefined
  try {
    return parseJson(`${strictUtf8.decode(opened)}}`)
  } catch {
    return undefined // bytes that are no text or no JSON are damage, which the caller names
  }
}

/** Length of the text that ends every sealed line. */
export const SUM_KEY = ',"sum":"'
export const SUM_BYTES = SUM_KEY.length + 8 + 2

function checksum(bytes: Uint8Array): string {
  return crc32(bytes).toString(16).padStart(8, '0')
}

function parseJson(text: string): unknown {
  return JSON.parse(text)
}
