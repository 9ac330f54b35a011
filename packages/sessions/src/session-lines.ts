/** How the records of one session become lines and lines become records: plainly, or sealed. */
import type { SessionId, SessionRecord } from '@beige/protocol'
import { fail } from './errors.ts'
import {
  decodeRecord,
  type EncodedRecord,
  encodeRecord,
  lineHash,
  type Position,
  type PreparedBody,
} from './record-line.ts'

export type ReadLine =
  | { kind: 'record'; record: SessionRecord; hash: string }
  /** Whole, but sealed with a key that is not here; `kid` names it. */
  | { kind: 'locked'; kid: string }
  /** Sealed, and does not open with the key it names: damaged, or put here from elsewhere. */
  | { kind: 'refused' }
  /** A plain record where only sealed ones are taken. */
  | { kind: 'unsealed' }

export interface SessionLines {
  encode(body: PreparedBody, position: Position): EncodedRecord
  /** Null when the bytes are no line of records. */
  read(line: Uint8Array): ReadLine | null
}

/** Any line that begins so is a sealed one, or was. */
export const SEALED_START = 'e2.'
const SEALED = /^e2\.([0-9a-f]{8})\.\d{1,10}\.\d{1,16}:[A-Za-z0-9_-]+$/
const HEAD_BYTES = 64

export const plainLines: SessionLines = {
  encode: encodeRecord,
  read(line) {
    const record = decodeRecord(line)
    if (record) return { kind: 'record', record, hash: lineHash(line) }
    const kid = kidOf(line)
    return kid === null ? null : { kind: 'locked', kid }
  },
}

/**
 * Tells logs that are whole and closed to us from damaged ones. Throws `no_key`; `wrong_seal` and `not_sealed` where nothing
 * at all can be read: one line alone may be damaged, several are another tenant's, or were sealed under another id.
 */
export function checkReadable(id: SessionId | undefined, found: readonly (ReadLine | null)[]): void {
  const count = (kind: ReadLine['kind']) => found.filter(one => one?.kind === kind).length
  const locked = found.find(one => one?.kind === 'locked')
  if (locked?.kind === 'locked') throw fail('no_key', { id, kid: locked.kid })
  if (count('record') > 0) return
  if (count('refused') > 1) throw fail('wrong_seal', { id, lines: count('refused') })
  if (count('unsealed') > 0) throw fail('not_sealed', { id })
}

/** The key that a sealed line names; null where it is none. */
export function kidOf(line: Uint8Array): string | null {
  const head = Buffer.from(line.buffer, line.byteOffset, Math.min(line.length, HEAD_BYTES))
  return SEALED.exec(head.toString('latin1'))?.[1] ?? null
}
