/** The keys of a tenant: a data key (DEK) and what is derived from it (HKDF-SHA256, one `info` a use). */
import { hkdfSync } from 'node:crypto'
import { fail } from '../errors.ts'
import { KEY_BYTES } from './xchacha.ts'

export const DEK_BYTES = KEY_BYTES
export const MAX_KEYS = 9 // one that writes and eight old ones, as a grant may name

export type TenantKey = {
  /** Names the key on every line; says nothing of it. */
  kid: string
  transcript: Uint8Array
  listing: Uint8Array
}

/** Throws `bad_key` unless `dek` has 32 bytes. */
export function tenantKey(dek: Uint8Array): TenantKey {
  if (dek.length !== DEK_BYTES)
    throw fail('bad_key', { reason: `it has ${dek.length} bytes, not ${DEK_BYTES}` })
  return {
    kid: Buffer.from(derived(dek, 'bsg_v1 kid', 4)).toString('hex'),
    transcript: derived(dek, 'bsg_v1 transcript', KEY_BYTES),
    listing: derived(dek, 'bsg_v1 listing', KEY_BYTES),
  }
}

/** A key file's or a grant's text: standard base64, padded, of exactly 32 bytes. Throws `bad_key`. */
export function dekFromText(text: string): Uint8Array {
  const trimmed = text.trim()
  const bytes = Buffer.from(trimmed, 'base64')
  if (bytes.toString('base64') !== trimmed)
    throw fail('bad_key', { reason: 'it is not standard base64 with padding' })
  if (bytes.length !== DEK_BYTES) {
    throw fail('bad_key', { reason: `it has ${bytes.length} bytes, not ${DEK_BYTES}` })
  }
  return bytes
}

function derived(dek: Uint8Array, info: string, bytes: number): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', dek, new Uint8Array(0), info, bytes))
}
