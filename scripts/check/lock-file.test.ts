import assert from 'node:assert/strict'
import test from 'node:test'
import { checkLockFile } from './lock-file.ts'
import { treeOf } from './tree.ts'

const says = (packages: object, more: Record<string, string> = {}): string[] =>
  checkLockFile(treeOf({ 'package-lock.json': JSON.stringify({ packages }), ...more })).map(
    problem => problem.says,
  )

const whole = {
  '': { devDependencies: { tool: '1.0.0' } },
  'node_modules/tool': { version: '1.0.0', dependencies: { part: '^2.0.0' } },
  'node_modules/part': { version: '3.0.0' },
  'node_modules/tool/node_modules/part': {
    version: '2.0.0',
    optionalDependencies: { 'part-linux': '2.0.0' },
  },
  'node_modules/part-linux': { version: '2.0.0', optional: true },
}

test('a whole lock file passes', () => {
  assert.deepEqual(says(whole), [])
})

test('a platform package that npm left out is named: npm ci refuses such a file', () => {
  const { 'node_modules/part-linux': _, ...rest } = whole
  assert.deepEqual(says(rest), ['part-linux, which node_modules/tool/node_modules/part needs, has no entry'])
})

test('a manifest that has moved on is named', () => {
  const manifest = JSON.stringify({ name: '@beige/host', dependencies: { part: '3.0.0' } })
  assert.deepEqual(says({ ...whole, 'packages/host': {} }, { 'packages/host/package.json': manifest }), [
    'packages/host/package.json has other dependencies: run npm install',
  ])
})

test('the address of a registry is named', () => {
  const resolved = {
    'node_modules/part': { version: '3.0.0', resolved: 'https://registry.example/part.tgz' },
  }
  assert.deepEqual(says({ ...whole, ...resolved }), ['node_modules/part names its registry'])
})
