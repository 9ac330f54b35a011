import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RecordBody } from '@beige/protocol'
import { answer, prompt, seededNumbers, started } from '../test/sample-records.ts'
import { decodeRecord, encodeRecord, FIRST_PREV, MIN_RECORD_BYTES, prepareBody } from './record-line.ts'

const POSITION = { seq: 3, epoch: 2, prev: FIRST_PREV, at: 1_700_000_000_000 }

function lineOf(body: RecordBody) {
  const prepared = prepareBody(body)
  assert.ok(typeof prepared !== 'string', String(prepared))
  return encodeRecord(prepared, POSITION)
}

test('what is written is what is read, whatever the text holds', () => {
  const texts = [
    '',
    '\n',
    '\u0000\u001b[2J',
    'Größe 😀',
    '\ud800',
    '","sum":"00000000"}',
    '{"seq":1}',
    '\u2028',
  ]
  for (const text of texts) {
    const { line, record } = lineOf(prompt('e1', null, text))
    assert.equal(line.indexOf(0x0a), -1)
    assert.deepEqual(decodeRecord(line), record)
  }
  const { line } = lineOf(started('c1'))
  assert.match(
    Buffer.from(line).toString('utf8'),
    /^\{"seq":3,"epoch":2,"prev":"0{32}","at":1700000000000,"type":"tool_started",.*,"sum":"[0-9a-f]{8}"\}$/,
  )
})

test('a line with any one byte changed, left out or put in is no record', () => {
  const { line } = lineOf(answer('m1', 'e1', ['c1']))
  const number = seededNumbers(7)
  for (let at = 0; at < line.length; at++) {
    const changed = Buffer.from(line)
    changed.writeUInt8(changed.readUInt8(at) ^ (1 << Math.floor(number() * 8)), at)
    assert.equal(decodeRecord(changed), null, `changed at ${at}`)
    assert.equal(decodeRecord(Buffer.concat([line.subarray(0, at), line.subarray(at + 1)])), null)
    assert.equal(
      decodeRecord(Buffer.concat([line.subarray(0, at), Buffer.of(0x20), line.subarray(at)])),
      null,
    )
  }
})

test('the shortest record is longer than what is taken for one', () => {
  const { line } = lineOf({ type: 'custom', kind: '' })
  assert.ok(line.length > MIN_RECORD_BYTES, String(line.length))
})

test('a body that is too long is refused before it is written', () => {
  assert.match(String(prepareBody(prompt('e1', null, 'x'.repeat(33 * 1024 * 1024)))), /longer than/)
})
