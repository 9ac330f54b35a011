/** A line of the audit log and the chain between lines. Pure but for the hash. */
import { hash } from 'node:crypto'
import type { AuditBody } from '@beige/protocol'

export const FIRST_PREV = '0'.repeat(32)
export const MAX_LINE_BYTES = 262_144

export function hashOfLine(line: Uint8Array | string): string {
  return hash('sha256', line, 'hex').slice(0, 32)
}

/** `seq`, `prev` and `ts` stand first, so that a verifier needs no JSON parser to walk the chain. */
export function lineOf(seq: number, prev: string, ts: string, body: AuditBody): string {
  return `{"seq":${seq},"prev":"${prev}","ts":"${ts}",${JSON.stringify(body).slice(1)}`
}

const HEAD = /^\{"seq":([1-9]\d{0,15}),"prev":"([0-9a-f]{32})","ts":"/
/** Longest head that the pattern can match. */
const HEAD_BYTES = 96

export function headOfLine(line: Uint8Array): { seq: number; prev: string } | null {
  const match = HEAD.exec(
    Buffer.from(line.buffer, line.byteOffset, Math.min(line.length, HEAD_BYTES)).toString('latin1'),
  )
  return match ? { seq: Number(match[1]), prev: match[2] ?? '' } : null
}

/** `audit.head`: the last line known to be on disk, padded so that it is always overwritten whole. */
export type ChainHead = { seq: number; hash: string }
export const HEAD_FILE_BYTES = 128

export function encodeHead(head: ChainHead): Uint8Array {
  return Buffer.from(`${JSON.stringify(head).padEnd(HEAD_FILE_BYTES - 1)}\n`)
}

export function decodeHead(text: string): ChainHead | null {
  const match = /^\{"seq":(\d{1,16}),"hash":"([0-9a-f]{32})"\} *\n?$/.exec(text)
  return match ? { seq: Number(match[1]), hash: match[2] ?? '' } : null
}
