/**
 * XChaCha20-Poly1305 (draft-irtf-cfrg-xchacha): the cipher of node:crypto under a subkey of HChaCha20, which node does not
 * have. Boxes are nonce, ciphertext and tag in one.
 */
import { createCipheriv, createDecipheriv } from 'node:crypto'
import { hchacha } from '@noble/ciphers/chacha.js'

export const KEY_BYTES = 32
export const NONCE_BYTES = 24
const TAG_BYTES = 16
export const BOX_BYTES = NONCE_BYTES + TAG_BYTES // beside the plaintext

const CIPHER = 'chacha20-poly1305'
const SIGMA = wordsOf(Buffer.from('expand 32-byte k', 'latin1'))

/** A nonce must never be used twice with one key; 24 random bytes are not. */
export function sealBox(key: Uint8Array, nonce: Uint8Array, plain: Uint8Array, about: Uint8Array): Buffer {
  const cipher = createCipheriv(CIPHER, subkey(key, nonce), shortNonce(nonce), { authTagLength: TAG_BYTES })
  cipher.setAAD(about, { plaintextLength: plain.length })
  const sealed = cipher.update(plain)
  cipher.final()
  return Buffer.concat([nonce, sealed, cipher.getAuthTag()])
}

/** Null when one bit of it, of the key or of `about` is another one. */
export function openBox(key: Uint8Array, box: Uint8Array, about: Uint8Array): Buffer | null {
  if (box.length < BOX_BYTES) return null
  const nonce = box.subarray(0, NONCE_BYTES)
  const sealed = box.subarray(NONCE_BYTES, box.length - TAG_BYTES)
  const cipher = createDecipheriv(CIPHER, subkey(key, nonce), shortNonce(nonce), { authTagLength: TAG_BYTES })
  cipher.setAAD(about, { plaintextLength: sealed.length })
  cipher.setAuthTag(box.subarray(box.length - TAG_BYTES))
  try {
    const plain = cipher.update(sealed)
    cipher.final()
    return plain
  } catch {
    return null // the tag does not fit: the caller says what that means
  }
}

function subkey(key: Uint8Array, nonce: Uint8Array): Uint8Array {
  const out = new Uint32Array(8)
  hchacha(SIGMA, wordsOf(key), wordsOf(nonce.subarray(0, 16)), out)
  return new Uint8Array(out.buffer)
}

function shortNonce(nonce: Uint8Array): Uint8Array {
  const short = new Uint8Array(12)
  short.set(nonce.subarray(16), 4)
  return short
}

/** Copies, since words must be aligned. */
function wordsOf(bytes: Uint8Array): Uint32Array {
  return new Uint32Array(Uint8Array.from(bytes).buffer)
}
