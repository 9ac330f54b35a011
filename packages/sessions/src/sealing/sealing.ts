/**
 * Sealed sessions of a tenant (design page "Sessions", Sealing; docs/decisions/sealed-lines.md). Every line of records is
 * `e2.<kid>.<epoch>.<seq>:<base64url of nonce, ciphertext, tag>`; headers and the other plain lines of a segment say
 * nothing of what was said.
 */
import type { Random, SessionId } from '@beige/protocol'
import { fail } from '../errors.ts'
import { lineHash, MAX_RECORD_BYTES, plainRecord, recordOf } from '../record-line.ts'
import { kidOf, plainLines, type ReadLine, type SessionLines } from '../session-lines.ts'
import { MAX_KEYS, type TenantKey, tenantKey } from './tenant-keys.ts'
import { NONCE_BYTES, openBox, sealBox } from './xchacha.ts'

export interface Sealing {
  readonly tenant: string
  /** Of the key that writes. */
  readonly kid: string
  lines(id: SessionId): SessionLines
  /** Text of an index: what names it is not in the clear. */
  sealText(text: string): string
  /** Null when its key is not here, or it was not sealed for this tenant. */
  openText(sealed: string): string | null
}

export type SealingParts = {
  tenant: string
  /** Data keys of 32 bytes; the first writes, all read. */
  keys: readonly Uint8Array[]
  random: Random
  /** Takes plain records, too: only to move sessions that were never sealed. */
  readsPlain?: boolean
}

const HEAD = /^e2\.([0-9a-f]{8})\.([1-9]\d{0,9})\.([1-9]\d{0,15})$/
const TEXT = /^l2\.([0-9a-f]{8}):([A-Za-z0-9_-]+)$/
const MAX_LINE_BYTES = Math.ceil((MAX_RECORD_BYTES * 4) / 3) + 256

/** Throws `bad_key`. */
export function createSealing({ tenant, keys, random, readsPlain = false }: SealingParts): Sealing {
  if (keys.length > MAX_KEYS) throw fail('bad_key', { reason: `there are more than ${MAX_KEYS}` })
  const all = keys.map(tenantKey)
  const byKid = new Map(all.map(key => [key.kid, key]))
  const ofIndex = Buffer.concat([framed(tenant), framed('listing')])
  const [first] = all
  if (!first) throw fail('bad_key', { reason: 'there is none' })
  const writer: TenantKey = first

  function sealed(key: Uint8Array, plain: Uint8Array, about: Uint8Array): string {
    return sealBox(key, random.bytes(NONCE_BYTES), plain, about).toString('base64url')
  }

  /** `of`: what all lines of a session are about. */
  function readSealed(of: Buffer, line: Uint8Array): ReadLine | null {
    const { head, box } = split(line)
    const [, kid = '', epoch = '', seq = ''] = HEAD.exec(head) ?? []
    const bytes = kid === '' ? null : strictBytes(box)
    if (!bytes) return null
    const about = Buffer.concat([of, framed(epoch), framed(seq)])
    const key = byKid.get(kid)
    if (!key) {
      // A damaged name of a key costs its line and no more.
      const isOurs = all.some(one => openBox(one.transcript, bytes, about) !== null)
      return isOurs ? { kind: 'refused' } : { kind: 'locked', kid }
    }
    const plain = openBox(key.transcript, bytes, about)
    const record = plain && recordOf(plain)
    const isItself = record && record.epoch === Number(epoch) && record.seq === Number(seq)
    return isItself ? { kind: 'record', record, hash: lineHash(line) } : { kind: 'refused' }
  }

  function linesOf(id: SessionId): SessionLines {
    const of = Buffer.concat([framed(tenant), framed(id)])
    return {
      encode(body, position) {
        const { text, record } = plainRecord(body, position)
        const { seq, epoch } = position
        const about = Buffer.concat([of, framed(String(epoch)), framed(String(seq))])
        const box = sealed(writer.transcript, Buffer.from(text), about)
        const line = Buffer.from(`e2.${writer.kid}.${epoch}.${seq}:${box}`, 'latin1')
        return { line, hash: lineHash(line), record }
      },
      read(line) {
        if (line.length > MAX_LINE_BYTES) return null
        const found = kidOf(line) === null ? null : readSealed(of, line)
        if (found) return found
        const plain = plainLines.read(line)
        if (plain?.kind !== 'record') return null
        return readsPlain ? plain : { kind: 'unsealed' }
      },
    }
  }

  return {
    tenant,
    kid: writer.kid,
    lines: linesOf,
    sealText(text) {
      return `l2.${writer.kid}:${sealed(writer.listing, Buffer.from(text), ofIndex)}`
    },
    openText(text) {
      const [, kid = '', box = ''] = TEXT.exec(text) ?? []
      const key = byKid.get(kid)
      const plain = key && openBox(key.listing, Buffer.from(box, 'base64url'), ofIndex)
      return plain ? plain.toString('utf8') : null
    },
  }
}

/** With its length in front, 4 bytes big-endian: no two lists of texts are the same bytes. */
function framed(text: string): Buffer {
  const bytes = Buffer.alloc(4 + Buffer.byteLength(text))
  bytes.writeUInt32BE(bytes.length - 4)
  bytes.write(text, 4)
  return bytes
}

function split(line: Uint8Array): { head: string; box: string } {
  const bytes = Buffer.from(line.buffer, line.byteOffset, line.length)
  const colon = bytes.indexOf(COLON)
  return { head: bytes.toString('latin1', 0, colon), box: bytes.toString('latin1', colon + 1) }
}

const COLON = ':'.charCodeAt(0)
const BASE64URL = /^[A-Za-z0-9_-]+$/

/** Null unless it is exactly what was written: bits of the last character that stand for nothing are part of the line, too. */
function strictBytes(box: string): Buffer | null {
  if (!BASE64URL.test(box)) return null
  const bytes = Buffer.from(box, 'base64url')
  const rest = bytes.length % 3
  const end = bytes.subarray(bytes.length - rest).toString('base64url')
  return box.length % 4 !== 1 && box.endsWith(end) ? bytes : null
}
