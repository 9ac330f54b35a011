import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRedactor } from './redactor.ts'
import { argsOf, auditArgs } from './story.ts'

const SECRET = 'p@ss/word "x"é'
const redact = createRedactor([{ name: 'github', value: SECRET }])

test('a known secret is taken out in each form in which it travels', () => {
  const bytes = Buffer.from(SECRET)
  for (const form of [
    SECRET,
    bytes.toString('base64'),
    bytes.toString('base64url'),
    encodeURIComponent(SECRET),
    bytes.toString('hex'),
    JSON.stringify(SECRET),
  ])
    assert.match(redact(`--token=${form};`), /^--token="?\[secret:github\]"?;$/, form)
})

test('text of the shape of a key is taken out, ordinary text stays', () => {
  assert.equal(redact(`use sk-${'a1'.repeat(12)} now`), 'use [redacted:api-key] now')
  assert.equal(redact(`ghp_${'a'.repeat(36)}`), '[redacted:github-token]')
  assert.equal(redact('risk-free desk-top task-list'), 'risk-free desk-top task-list')
})

test('a hostile text of a megabyte is filtered in linear time', () => {
  const started = performance.now()
  redact(`-----BEGIN ${'A '.repeat(300_000)}`)
  redact('sk-'.repeat(300_000))
  assert.ok(performance.now() - started < 5000)
})

test('a long argument is cut, counted and hashed; a secret across the cut is not shown in part', () => {
  const long = `${'x'.repeat(1020)}${SECRET}${'y'.repeat(5000)}`
  const [shown = ''] = auditArgs([long], redact, 'redacted')
  assert.ok(shown.length < 1300)
  assert.match(shown, /\[\d+ bytes, sha256 [0-9a-f]{64}\]$/)
  assert.ok(!shown.includes('p@ss'))
})

test('many arguments are bounded', () => {
  const shown = auditArgs(
    Array.from({ length: 4096 }, () => 'z'.repeat(100)),
    redact,
    'redacted',
  )
  assert.ok(shown.join('').length < 40_000)
  assert.match(shown.at(-1) ?? '', /^\[\d+ more\]$/)
})

test('arguments of each kind of call are told', () => {
  assert.deepEqual(argsOf({ args: ['log', '--oneline', ''] }), ['log', '--oneline', ''])
  assert.deepEqual(argsOf({ args_b64: [Buffer.from([0xff, 0x41]).toString('base64'), 'w6k='] }), [
    '\\xffA',
    'é',
  ])
  assert.deepEqual(argsOf({ path: 'a.txt', content: 'hi' }), ['a.txt', 'content=hi'])
  assert.deepEqual(argsOf({ command: 'ls -la' }), ['ls -la'])
  assert.deepEqual(argsOf(null), ['null'])
})
