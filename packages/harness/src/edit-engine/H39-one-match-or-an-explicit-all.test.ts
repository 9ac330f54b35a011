import assert from 'node:assert/strict'
import { test } from 'node:test'
import { applyEdits } from './index.ts'

const problem = (file: string, oldText: string, newText: string) => {
  const result = applyEdits(Buffer.from(file), [{ oldText, newText, replaceAll: false }])
  assert.ok(!result.ok)
  return result.problem
}

test('H39 two places without replaceAll are refused with their lines', () => {
  assert.deepEqual(problem('x\ny\nx\n', 'x', 'z'), { code: 'not_unique', edit: 0, count: 2, lines: [1, 3] })
})

test('H39 two places that overlap are two places', () => {
  assert.deepEqual(problem('aaa\n', 'aa', 'b'), { code: 'not_unique', edit: 0, count: 2, lines: [1, 1] })
})

test('H39 two folded places are refused too', () => {
  const found = problem('“x”\n”x“\n', '"x"', 'y')
  assert.deepEqual(found, { code: 'not_unique', edit: 0, count: 2, lines: [1, 2] })
})

test('H39 an exact place wins over folded ones', () => {
  const result = applyEdits(Buffer.from('“x”\n"x"\n'), [{ oldText: '"x"', newText: 'y', replaceAll: false }])
  assert.ok(result.ok)
  assert.equal(Buffer.from(result.bytes).toString(), '“x”\ny\n')
})

test('H39 replaceAll changes all of them, left to right', () => {
  const result = applyEdits(Buffer.from('aaaaa x aa'), [{ oldText: 'aa', newText: 'b', replaceAll: true }])
  assert.ok(result.ok)
  assert.equal(Buffer.from(result.bytes).toString(), 'bba x b')
  assert.equal(result.hunks.length, 3)
})
