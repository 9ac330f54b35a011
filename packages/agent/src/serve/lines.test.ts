import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { lines } from './lines.ts'

const NEVER = new AbortController().signal

async function linesOf(chunks: readonly (string | Buffer)[], maxBytes = 100): Promise<(string | null)[]> {
  const seen: (string | null)[] = []
  for await (const line of lines(Readable.from(chunks), maxBytes, NEVER)) seen.push(line)
  return seen
}

test('lines come out whole wherever the chunks were cut, also inside a character', async () => {
  const text = '{"a":"grüße 漢字"}\n{"b":2}\r\n\n  \n{"c":3}'
  const expected = ['{"a":"grüße 漢字"}', '{"b":2}', '{"c":3}']
  const bytes = Buffer.from(text)
  assert.deepEqual(await linesOf([text]), expected)
  assert.deepEqual(await linesOf([...bytes].map(byte => Buffer.from([byte]))), expected)
  for (let cut = 1; cut < bytes.length; cut++)
    assert.deepEqual(await linesOf([bytes.subarray(0, cut), bytes.subarray(cut)]), expected)
})

test('a line that is too long is null, wherever it was cut, and the next one is whole', async () => {
  const bytes = Buffer.from(`${'x'.repeat(11)}\nnext\n${'y'.repeat(10)}\n${'z'.repeat(300)}`)
  const expected = [null, 'next', 'y'.repeat(10), null]
  for (const size of [1, 3, 7, 11, 12, 1000]) {
    const chunks: Buffer[] = []
    for (let at = 0; at < bytes.length; at += size) chunks.push(bytes.subarray(at, at + size))
    assert.deepEqual(await linesOf(chunks, 10), expected, `chunks of ${size}`)
  }
})

test('an abort ends the lines of a stream that stays open', async () => {
  for (const when of ['before', 'while it waits'] as const) {
    const stream = new Readable({ read: () => {} })
    const controller = new AbortController()
    if (when === 'before') controller.abort()
    else stream.push('one\n')
    const seen: (string | null)[] = []
    for await (const line of lines(stream, 100, controller.signal)) {
      seen.push(line)
      controller.abort()
    }
    assert.deepEqual(seen, when === 'before' ? [] : ['one'])
  }
})
