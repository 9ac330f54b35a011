import assert from 'node:assert/strict'
import test from 'node:test'
import { checkErrorTables } from './error-tables.ts'
import { treeOf } from './tree.ts'

const problemsIn = (path: string, text: string): string[] =>
  checkErrorTables(treeOf({ [path]: text })).map(({ says }) => says)

const table = (entry: string): string =>
  `export const errors = { no_engine: ${entry} } as const satisfies ErrorTable`
const whole = "{ says: 'no engine', retryable: true, advice: 'Start one' }"

test('a whole table in errors.ts passes', () => {
  assert.deepEqual(problemsIn('packages/sandbox/src/errors.ts', table(whole)), [])
})

test('an entry without advice, with an empty text or without retryable is named', () => {
  const path = 'packages/sandbox/src/errors.ts'
  assert.deepEqual(problemsIn(path, table("{ says: 'a', retryable: true }")), ['no_engine has no advice'])
  assert.deepEqual(problemsIn(path, table("{ says: ' ', advice: 'b', retryable: true }")), [
    'no_engine: says is empty',
  ])
  assert.deepEqual(problemsIn(path, table("{ says: 'a', advice: 'b' }")), ['no_engine has no retryable'])
})

test('a table elsewhere is refused, but beside the wire shape it belongs to', () => {
  assert.equal(problemsIn('packages/sandbox/src/exec.ts', table(whole)).length, 1)
  assert.equal(problemsIn('packages/protocol/src/frames.ts', table(whole)).length, 0)
})

test('a package throws its own codes, never a bare Error', () => {
  const text = "throw new Error('exec failed')"
  assert.equal(problemsIn('packages/sandbox/src/a.ts', text).length, 1)
  assert.equal(problemsIn('packages/sandbox/src/a.test.ts', text).length, 0)
  assert.equal(problemsIn('packages/sandbox/src/a.ts', "throw fail('no_engine')").length, 0)
})
