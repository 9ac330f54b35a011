import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLineSplitter } from './ndjson.ts'

const TEXT = Buffer.from('{"a":"ä"}\n\n{"b":"漢"}\n')
const LINES = ['{"a":"ä"}', '', '{"b":"漢"}']

const all = (chunks: readonly Buffer[], maxBytes?: number) => {
  const splitter = createLineSplitter('test', maxBytes)
  const lines = chunks.flatMap(chunk => splitter.push(chunk).map(line => line.toString('utf8')))
  return { lines, hasRest: splitter.hasRest }
}

test('lines are whole wherever the bytes are torn', () => {
  for (let at = 0; at <= TEXT.length; at++) {
    const { lines, hasRest } = all([TEXT.subarray(0, at), TEXT.subarray(at)])
    assert.deepEqual(lines, LINES, `torn at ${at}`)
    assert.equal(hasRest, false)
  }
  assert.deepEqual(all([...TEXT].map(byte => Buffer.from([byte]))).lines, LINES)
})

test('an unfinished line is said to be held', () => {
  assert.deepEqual(all([Buffer.from('{"a"')]), { lines: [], hasRest: true })
})

test('a line past the bound is refused before it is whole', () => {
  const long = Buffer.alloc(40, 'x')
  assert.throws(() => all([long, long, long], 100), { code: 'endpoint_wrong' })
  assert.throws(() => all([Buffer.from(`${'x'.repeat(101)}\n`)], 100), { code: 'endpoint_wrong' })
  assert.deepEqual(all([Buffer.from(`${'x'.repeat(100)}\n`)], 100).lines, ['x'.repeat(100)])
})
