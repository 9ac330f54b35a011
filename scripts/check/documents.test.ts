import assert from 'node:assert/strict'
import test from 'node:test'
import { checkDocuments } from './documents.ts'
import { treeOf } from './tree.ts'

const manifest = JSON.stringify({ name: '@beige/host' })
const readme = '# host\n\n```ts\nstart()\n```\n'

test('a package without a README, or with one that shows no example, is refused', () => {
  const files = { 'packages/host/package.json': manifest }
  assert.equal(checkDocuments(treeOf(files)).length, 1)
  assert.equal(checkDocuments(treeOf({ ...files, 'packages/host/README.md': '# host' })).length, 1)
  assert.deepEqual(checkDocuments(treeOf({ ...files, 'packages/host/README.md': readme })), [])
})

test('a link to a file that is gone is refused with its line', () => {
  const text =
    'See\n[a](docs/a.md), [b](docs/b.md#part), [docs](docs/), [site](https://a.example) and [here](#x).'
  const problems = checkDocuments(treeOf({ 'README.md': text, 'docs/a.md': '' }))
  assert.deepEqual(problems, [{ path: 'README.md', line: 2, says: 'no file docs/b.md' }])
})

test('links are relative to their document and are not looked for in code', () => {
  const text = '[up](../README.md)\n```\n[not](a-link)\n```\n'
  assert.deepEqual(checkDocuments(treeOf({ 'docs/a.md': text, 'README.md': '' })), [])
})
