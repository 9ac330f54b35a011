import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { execdMissing } from '@beige/test-support'
import { codeOf, textOf, withTools } from '../../test/tool-bench.ts'
import { imageOf } from './image.ts'

const png = (width: number, height: number, size = 64): Buffer => {
  const bytes = Buffer.alloc(size)
  bytes.write('\x89PNG\r\n\x1a\n', 'latin1')
  bytes.write('IHDR', 12)
  bytes.writeUInt32BE(width, 16)
  bytes.writeUInt32BE(height, 20)
  return bytes
}

test('H36 formats and sizes come from the header', () => {
  assert.deepEqual(imageOf(png(3, 4)), { format: 'png', width: 3, height: 4 })
  const gif = Buffer.from('GIF89a\x05\x00\x06\x00\x00\x00', 'latin1')
  assert.deepEqual(imageOf(gif), { format: 'gif', width: 5, height: 6 })
  const jpeg = Buffer.from('ffd8ffe000040000ffc00011080009000703012200021101031101', 'hex')
  assert.deepEqual(imageOf(jpeg), { format: 'jpeg', width: 7, height: 9 })
  const webp = Buffer.alloc(30)
  webp.write('RIFF')
  webp.write('WEBPVP8X', 8)
  webp.writeUIntLE(10, 24, 3)
  webp.writeUIntLE(11, 27, 3)
  assert.deepEqual(imageOf(webp), { format: 'webp', width: 11, height: 12 })
  const bmp = Buffer.alloc(26)
  bmp.write('BM')
  bmp.writeUInt32LE(40, 14)
  bmp.writeInt32LE(13, 18)
  bmp.writeInt32LE(-14, 22)
  assert.deepEqual(imageOf(bmp), { format: 'bmp', width: 13, height: 14 })
  assert.equal(imageOf(Buffer.from('BMW is a car, and this is a text')), null)
  assert.deepEqual(imageOf(Buffer.from([0xff, 0xd8, 0xff])), { format: 'jpeg', width: null, height: null })
})

test('H36 headers that are cut or hostile never throw', () => {
  const starts = [
    '\x89PNG\r\n\x1a\n',
    'GIF89a',
    '\xff\xd8\xff\xe0\x00\x00\xff\xc0',
    'RIFF\0\0\0\0WEBPVP8L',
    'BM',
  ]
  for (const start of starts) {
    const bytes = Buffer.concat([Buffer.from(start, 'latin1'), Buffer.alloc(64, 0xff)])
    for (let length = 0; length <= bytes.length; length++) imageOf(bytes.subarray(0, length))
  }
})

test('H36 an image is known by content, refused by size', { skip: execdMissing() }, () =>
  withTools('commands', async ({ root, call }) => {
    writeFileSync(join(root, 'photo.txt'), png(1200, 800))
    const shown = await call('read', { path: 'photo.txt' })
    assert.equal(textOf(shown), '[image: png 1200x800, 64B]\n<image/png>')
    const [, block] = shown.content
    assert.ok(block?.type === 'image')
    assert.deepEqual(Buffer.from(block.data, 'base64'), png(1200, 800))
    writeFileSync(join(root, 'not.png'), 'just text\n')
    assert.equal(textOf(await call('read', { path: 'not.png' })), '     1\tjust text')
    for (const [name, bytes, why] of [
      ['pixels', png(8001, 8000), /over 64 megapixels/],
      ['heavy', png(10, 10, 4 * 1024 * 1024), /over 4\.5MB in base64/],
      ['huge', png(10, 10, 9 * 1024 * 1024), /over 4\.5MB in base64/],
    ] as const) {
      writeFileSync(join(root, name), bytes)
      const refused = await call('read', { path: name })
      assert.equal(codeOf(refused), 'limit')
      assert.match(textOf(refused), why)
    }
  }),
)
