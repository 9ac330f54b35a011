import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createCapture } from './index.ts'

const TEXT = 'ä€𝒳 日本\n'

test('H29 decoding chunk by chunk breaks characters', () => {
  const bytes = Buffer.from(TEXT)
  assert.ok((bytes.subarray(0, 1).toString() + bytes.subarray(1).toString()).includes('\ufffd'))
})

test('H29 a character split between chunks of one stream arrives whole, the other stream in between', () => {
  const bytes = Buffer.from(TEXT)
  for (let at = 0; at <= bytes.length; at++) {
    const capture = createCapture()
    capture.push('stdout', bytes.subarray(0, at))
    capture.push('stderr', Buffer.from('\u001b[2m'))
    capture.push('stdout', bytes.subarray(at))
    assert.equal(capture.finish().text, TEXT.trimEnd())
  }
})

test('H29 bytes that are no UTF-8 become one mark each piece, and the text goes on', () => {
  const capture = createCapture()
  capture.push('stdout', Buffer.from([0x61, 0xff, 0x62, 0xe2, 0x82]))
  assert.equal(capture.finish().text, 'a\ufffdb\ufffd')
})
