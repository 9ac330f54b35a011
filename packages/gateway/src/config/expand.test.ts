import assert from 'node:assert/strict'
import { test } from 'node:test'
import { expandText } from './expand.ts'

const ENV = { A: 'one', EMPTY: '', NESTED: '${A}' }

const CASES: readonly [given: string, expected: string][] = [
  ['plain', 'plain'],
  ['${A}', 'one'],
  ['x${A}y${A}', 'xoneyone'],
  ['${EMPTY}', ''],
  ['${EMPTY:-two}', 'two'],
  ['${NONE:-two}', 'two'],
  ['${NONE:-}', ''],
  ['${NONE:-a\\}b\\\\c}', 'a}b\\c'],
  ['${NONE:-a${A}', 'a${A'],
  ['$${A}', '${A}'],
  ['$A $$A $', '$A $$A $'],
  ['${NESTED}', '${A}'],
]
for (const [given, expected] of CASES)
  test(`${given} expands to ${JSON.stringify(expected)}`, () => {
    const expanded = expandText(given, ENV)
    assert.deepEqual(expanded.problems, [])
    assert.equal(expanded.text, expected)
  })

test('an unset variable is an error that names it', () => {
  assert.deepEqual(expandText('${A} ${NONE}', ENV).problems, ['${NONE} is not set'])
})

test('what looks like an expression and is none is an error', () => {
  for (const text of ['${', '${1}', '${A', '${A-b}', '${ A }', '${A:-x'])
    assert.equal(expandText(text, ENV).problems.length, 1, text)
})
