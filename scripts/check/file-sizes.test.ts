import assert from 'node:assert/strict'
import test from 'node:test'
import { checkFileSizes, describeFileSizes } from './file-sizes.ts'
import { treeOf } from './tree.ts'

const lines = (count: number): string => '//\n'.repeat(count)

test('500 lines pass and 501 do not, in TypeScript and in Rust', () => {
  const small = { 'bench/src/a.ts': lines(1), 'bench/src/b.ts': lines(2), 'bench/src/c.ts': lines(3) }
  assert.deepEqual(checkFileSizes(treeOf({ ...small, 'bench/src/d.ts': lines(500) })), [])
  for (const path of ['bench/src/d.ts', 'packages/execd/src/main.rs']) {
    assert.deepEqual(checkFileSizes(treeOf({ ...small, [path]: lines(501) })), [
      { path, says: '501 lines, at most 500' },
    ])
  }
})

test('a median over 150 lines is refused', () => {
  const tree = treeOf({
    'bench/src/a.ts': lines(10),
    'bench/src/b.ts': lines(151),
    'bench/src/c.ts': lines(200),
  })
  assert.deepEqual(checkFileSizes(tree), [{ path: '.', says: 'the median file has 151 lines, at most 150' }])
  assert.equal(describeFileSizes(tree), '3 files, median 151 lines, maximum 200 (bench/src/c.ts)')
})
