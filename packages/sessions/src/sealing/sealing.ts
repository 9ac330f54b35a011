/**
 * Sealed sessions of a tenant (design page "Sessions", Sealing; docs/decisions/sealed-lines.md). Every line of records is
 * `e2.<kid>.<epoch>.<seq>:<base64url of nonce, ciphertext, tag>`; headers and the other plain lines of a segment say
 * nothing of what was said.
 */
import type { Random, SessionId } from '@beige/protocol'
import { fail } from '../errors.ts'
import { lineHash, MAX_RECORD_BYTES, plainRecord, recordOf } from '../record-line.ts'
import { kidOf, plainLines, type ReadLine, type SessionLines } from '../session-lines.ts'
import { MAX_KEYS, tenantKey } from './tenant-keys.ts'
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

const LINE = /^e2\.([0-9a-f]{8})\.([1-9]\d{0,9})\.([1-9]\d{0,15}):([A-Za-z0-9_-]+)$/
const TEXT = /^l2\.([0-9a-f]{8}):([A-Za-z0-9_-]+)$/
const MAX_LINE_BYTES = Math.ceil((MAX_RECORD_BYTES * 4) / 3) + 256

/** Throws `bad_key`. */
export function createSealing({ tenant, keys, random, readsPlain = false }: SealingParts): Sealing {
  if (keys.length > MAX_KEYS) throw fail('bad_key', { reason: `there are more than ${MAX_KEYS}` })
  const all = keys.map(tenantKey)
  const byKid = new Map(all.map(key => [key.kid, key]))
  const [writer] = all
  if (!writer) throw fail('bad_key', { reason: 'there is none' })

  function sealed(key: Uint8Array, plain: Uint8Array, about: Uint8Array): string {
    return sealBox(key, random.bytes(NONCE_BYTES), plain, about).toString('base64url')
  }

  function readSealed(id: SessionId, line: Uint8Array): ReadLine | null {
    const [, kid = '', epoch = '', seq = '', box = ''] = LINE.exec(Buffer.from(line).toString('latin1')) ?? []
    if (box === '') return null
    const about = aboutLine(tenant, id, epoch, seq)
    const bytes = Buffer.from(box, 'base64url')
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

  return {
    tenant,
    kid: writer.kid,
    lines: id => ({
      encode(body, position) {
        const { text, record } = plainRecord(body, position)
        const { seq, epoch } = position
        const about = aboutLine(tenant, id, String(epoch), String(seq))
        const box = sealed(writer.transcript, Buffer.from(text), about)
        const line = Buffer.from(`e2.${writer.kid}.${epoch}.${seq}:${box}`, 'latin1')
        return { line, hash: lineHash(line), record }
      },
      read(line) {
        if (line.length > MAX_LINE_BYTES) return null
        const found = kidOf(line) === null ? null : readSealed(id, line)
        if (found) return found
        const plain = plainLines.read(line)
        if (plain?.kind !== 'record') return null
        return readsPlain ? plain : { kind: 'unsealed' }
      },
    }),
    sealText(text) {
      const about = parts([tenant, 'listing'])
      return `l2.${writer.kid}:${sealed(writer.listing, Buffer.from(text), about)}`
    },
    openText(text) {
      const [, kid = '', box = ''] = TEXT.exec(text) ?? []
      const key = byKid.get(kid)
      const plain = key && openBox(key.listing, Buffer.from(box, 'base64url'), parts([tenant, 'listing']))
      return plain ? plain.toString('utf8') : null
    },
  }
}

/** What a line is about; a line that is put elsewhere does not open there. */
function aboutLine(tenant: string, id: SessionId, epoch: string, seq: string): Buffer {
  return parts([tenant, id, epoch, seq])
}

/** Each with its length in front, 4 bytes big-endian: no two lists are the same bytes. */
function parts(texts: readonly string[]): Buffer {
  return Buffer.concat(
    texts.flatMap(text => {
      const bytes = Buffer.from(text, 'utf8')
      const length = Buffer.alloc(4)
      length.writeUInt32BE(bytes.length)
      return [length, bytes]
    }),
  )
}
