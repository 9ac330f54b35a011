import assert from 'node:assert/strict'
import { test } from 'node:test'
import { diffLines, factsOf, lineOf, subjectOf } from './tool-line.ts'
import { columns } from './visible.ts'

test('what a call is about', () => {
  for (const [input, subject] of [
    [{ command: 'npm test' }, 'npm test'],
    [{ command: 'sh', args: ['a'] }, 'sh'],
    [{ args: ['git', 'push'] }, 'git push'],
    [{ path: 'a.ts' }, 'a.ts'],
    [{ path: 'a.ts', offset: 40, limit: 41 }, 'a.ts:40-80'],
    [{ path: 'a.ts', offset: 40 }, 'a.ts:40'],
    [{ path: 'a.ts', limit: 10 }, 'a.ts:1-10'],
    [{ key: 'k' }, '{"key":"k"}'],
    [null, ''],
    ['text', ''],
  ] as const)
    assert.equal(subjectOf(input), subject)
})

test('what came of it', () => {
  const end = { ms: 14.4, isError: false, outcome: 'done', outputBytes: 21_504 }
  const diff = '--- a\n+++ b\n@@ -1 +1,2 @@\n-old\n+new\n+more'
  for (const [details, change, facts] of [
    [{}, {}, '14 ms  21.0KB'],
    [{ exit_code: 1 }, { isError: true, ms: 2400 }, '2.4 s  exit 1'],
    [{ exit_code: null, signal: 'SIGKILL' }, { isError: true, ms: 61_000 }, '1 min 1 s  SIGKILL'],
    [{ diff }, {}, '14 ms  +2 −1'],
    [{ code: 'not_found' }, { isError: true }, '14 ms  not_found'],
    [{}, { isError: true }, '14 ms  failed'],
    [{ exit_code: 0 }, { outcome: 'interrupted' }, '14 ms  interrupted'],
  ] as const)
    assert.equal(factsOf(details, { ...end, ...change }), facts)
})

test('a line fits the terminal at any width, whatever a model calls', () => {
  const hostile = {
    name: '\x1b[31mrm\x07 '.repeat(20),
    subject: 'rm -rf /\n\x1b]0;x\x07'.repeat(30),
    facts: '3 ms  exit 0',
  }
  for (const width of [100, 120, 200]) assert.ok(columns(lineOf(hostile, width)) <= width - 4)
  for (const width of [30, 40, 80]) {
    const shown = lineOf({ name: 'bash', subject: 'npm test -- '.repeat(20), facts: '3 ms  exit 0' }, width)
    assert.ok(columns(shown) <= width - 4, `${width}: ${shown}`)
  }
  for (const width of [0, 1, 40, 200]) assert.doesNotMatch(lineOf(hostile, width), /[\x00-\x1f]/)
})

test('changed lines of a diff, without its headers', () => {
  assert.deepEqual(diffLines('--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n same\n-old\n+new'), ['-old', '+new'])
  assert.deepEqual(diffLines(undefined), [])
})
