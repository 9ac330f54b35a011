/** Reads the checkout as `npm run check` does, so that the checks can not pass over an empty list. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import test from 'node:test'
import { readTree } from './tree.ts'

test('the checks see the sources and manifests of this repository and none of its dependencies', () => {
  const tree = readTree(join(import.meta.dirname, '../..'))
  assert.ok(tree.sources.some(({ path }) => path === 'packages/protocol/src/ids.ts'))
  assert.ok(tree.sources.some(({ path }) => path === 'scripts/check/main.ts'))
  assert.ok(tree.manifests.some(({ name }) => name === '@beige/protocol'))
  assert.ok([...tree.files.keys()].every(path => !path.includes('node_modules')))
})
