/** The cipher against its draft and an independent implementation; a whole line opened by nothing of ours. */
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import { xchacha20poly1305 } from '@noble/ciphers/chacha.js'
import { sealingWith } from '../../test/sample-log.ts'
import { prompt, seededRandom, sessionId } from '../../test/sample-records.ts'
import { prepareBody } from '../record-line.ts'
import { createSealing } from './sealing.ts'
import { dekFromText } from './tenant-keys.ts'
import { openBox, sealBox } from './xchacha.ts'

const hex = (text: string) => Buffer.from(text, 'hex')

test('the vector of draft-irtf-cfrg-xchacha-03, A.3.1', () => {
  const plain = Buffer.from(
    "Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, sunscreen would be it.",
  )
  const about = hex('50515253c0c1c2c3c4c5c6c7')
  const key = hex('808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f')
  const nonce = hex('404142434445464748494a4b4c4d4e4f5051525354555657')
  const box = sealBox(key, nonce, plain, about)
  assert.equal(
    box.subarray(24).toString('hex'),
    'bd6d179d3e83d43b9576579493c0e939572a1700252bfaccbed2902c21396cbb731c7f1b0b4aa6440bf3a82f4eda7e39ae64c6708c54c216cb96b72e1213b4522f8c9ba40db5d945b11b69b982c1bb9e3f3fac2bc369488f76b2383565d3fff921f9664c97637da9768812f615c68b13b52ec0875924c1c7987947deafd8780acf49',
  )
  assert.deepEqual(openBox(key, box, about), plain)
})

test('the same boxes as another implementation, of every length around a block, both ways', () => {
  const random = seededRandom(7)
  for (let length = 0; length < 200; length++) {
    const [key, nonce, plain, about] = [32, 24, length, length % 40].map(count => random.bytes(count))
    assert.ok(key && nonce && plain && about)
    const box = sealBox(key, nonce, plain, about)
    const other = xchacha20poly1305(key, nonce, about).encrypt(plain)
    assert.deepEqual(box.subarray(24), Buffer.from(other))
    assert.deepEqual(openBox(key, Buffer.concat([nonce, other]), about), Buffer.from(plain))
  }
})

test('no bit of a box, its key or what it is about may be another one', () => {
  const [key, nonce, plain, about] = [
    Buffer.alloc(32, 1),
    Buffer.alloc(24, 2),
    Buffer.from('text'),
    Buffer.from('a'),
  ]
  const box = sealBox(key, nonce, plain, about)
  for (let bit = 0; bit < box.length * 8; bit++) {
    const other = Buffer.from(box)
    other[bit >> 3] = (other[bit >> 3] ?? 0) ^ (1 << (bit & 7))
    assert.equal(openBox(key, other, about), null)
  }
  assert.equal(openBox(Buffer.alloc(32, 9), box, about), null)
  assert.equal(openBox(key, box, Buffer.from('b')), null)
  for (let length = 0; length < box.length; length++)
    assert.equal(openBox(key, box.subarray(0, length), about), null)
})

test('a line opens with HKDF by hand, another cipher and the page alone', () => {
  const id = sessionId('s_1')
  const body = prepareBody(prompt('e1', null, 'a secret'))
  assert.ok(typeof body !== 'string')
  const position = { seq: 5, epoch: 3, prev: '0'.repeat(32), at: 17 }
  const { line } = sealingWith(7).lines(id).encode(body, position)
  const [, kid, epoch, seq, box] =
    /^e2\.([0-9a-f]{8})\.(\d+)\.(\d+):([A-Za-z0-9_-]+)$/.exec(line.toString()) ?? []
  const dek = Buffer.alloc(32, 7)
  assert.deepEqual([epoch, seq], ['3', '5'])
  assert.equal(kid, hkdf(dek, 'bsg_v1 kid').subarray(0, 4).toString('hex'))
  const about = Buffer.concat(
    ['t-1', 's_1', '3', '5'].map(text =>
      Buffer.concat([Buffer.from([0, 0, 0, text.length]), Buffer.from(text)]),
    ),
  )
  const bytes = Buffer.from(box ?? '', 'base64url')
  const cipher = xchacha20poly1305(hkdf(dek, 'bsg_v1 transcript'), bytes.subarray(0, 24), about)
  const opened = JSON.parse(Buffer.from(cipher.decrypt(bytes.subarray(24))).toString())
  assert.deepEqual(opened, { ...position, ...prompt('e1', null, 'a secret') })
})

test('keys: their text is strict, their number is bounded', () => {
  const text = Buffer.alloc(32, 200).toString('base64')
  assert.deepEqual(dekFromText(`${text}\n`), Buffer.alloc(32, 200))
  for (const bad of ['', 'x', text.slice(1), text.replace('=', ''), Buffer.alloc(31).toString('base64')]) {
    assert.throws(() => dekFromText(bad), { code: 'bad_key' }, bad)
  }
  const random = seededRandom(1)
  const keys = Array.from({ length: 10 }, (_, index) => Buffer.alloc(32, index))
  assert.throws(() => createSealing({ tenant: 't', keys, random }), { code: 'bad_key' })
  assert.throws(() => createSealing({ tenant: 't', keys: [], random }), { code: 'bad_key' })
})

/** RFC 5869 with an empty salt, first block. */
function hkdf(key: Buffer, info: string): Buffer {
  const extracted = createHmac('sha256', Buffer.alloc(32)).update(key).digest()
  return createHmac('sha256', extracted)
    .update(info)
    .update(Buffer.from([1]))
    .digest()
}
