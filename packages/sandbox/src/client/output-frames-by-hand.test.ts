import assert from 'node:assert/strict'
import { test } from 'node:test'
import { outputFrame, parseFrame } from './answers.ts'

const frame = (text: string) => outputFrame(Buffer.from(text))

test('an output frame as execd writes it is decoded, and says what JSON says', () => {
  for (const size of [0, 1, 2, 3, 4, 70_000]) {
    const bytes = Buffer.from(Array.from({ length: size }, (_, at) => (at * 7) % 256))
    const line = `{"type":"stderr","offset":${size},"data":"${bytes.toString('base64')}"}`
    assert.deepEqual(frame(line), { type: 'stderr', offset: size, bytes })
    const parsed = parseFrame(Buffer.from(line), 'e')
    assert.ok(parsed.type === 'stderr' && parsed.data === bytes.toString('base64'))
  }
})

test('whatever is written otherwise, or is wrong, is left to the parser', () => {
  for (const text of [
    '',
    '{}',
    '{"type":"start","job":"j","pid":1}',
    '{"type":"stdout","offset":0, "data":"YQ=="}',
    '{"type":"stdout","offset":0,"data":"YQ==","more":1}',
    '{"type":"stdout","offset":0,"data":"Pz8\\/"}',
    '{"type":"stdout","offset":0,"data":"YQ="}',
    '{"type":"stdout","offset":0,"data":"Y Q=="}',
    '{"type":"stdout","offset":-1,"data":"YQ=="}',
    '{"type":"stdout","offset":0,"data":"YQ==","data":"YQ=="}',
    '{"type":"stdout","offset":0,"data":"YQ==',
  ]) {
    assert.equal(frame(text), null, text)
  }
})
