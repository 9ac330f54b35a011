import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRedactor } from './redactor.ts'

test('a key goes in each of its spellings', () => {
  const key = 'a+b/c=secret value'
  const redact = createRedactor([key]).redact
  for (const spelling of [key, encodeURIComponent(key), Buffer.from(key).toString('base64')])
    assert.equal(redact(`<${spelling}>`), '<[redacted]>')
})

test('what looks like a key goes, words stay', () => {
  const redact = createRedactor([]).redact
  assert.equal(
    redact('Incorrect API key provided: sk-proj-abcd***********wxyz. See sk-learn and key-value stores.'),
    'Incorrect API key provided: [redacted]. See sk-learn and key-value stores.',
  )
  assert.equal(redact('Authorization: Bearer abc.def.ghi-123'), 'Authorization: [redacted]')
})

test('a very short secret does not eat the text', () => {
  assert.equal(createRedactor(['a', 'no']).redact('a note'), 'a note')
})
