import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import test from 'node:test'
import { makeTree } from './trees.ts'

const BARE = { hasPidsLimit: false, isNamespace: false }
const SANDBOX = { hasPidsLimit: true, isNamespace: true }

test('the same seed and number make the same tree, another number another one', () => {
  assert.deepEqual(makeTree(7, 3, BARE), makeTree(7, 3, BARE))
  const scripts = new Set(Array.from({ length: 200 }, (_, number) => makeTree(7, number, BARE).script))
  assert.ok(scripts.size > 150, `${scripts.size} different ones`)
})

test('all shapes come up, and some trees ignore SIGTERM', () => {
  const trees = Array.from({ length: 300 }, (_, number) => makeTree(1, number, SANDBOX))
  const traits = new Set(trees.flatMap(tree => tree.traits))
  assert.ok(traits.size >= 23, [...traits].join(', '))
  const stubborn = trees.filter(tree => tree.isStubborn).length
  assert.ok(stubborn > 45 && stubborn < 105, `${stubborn} of 300`)
})

test('what a process may do to all others it does in a namespace alone', () => {
  const scripts = (place: typeof BARE) =>
    Array.from({ length: 300 }, (_, number) => makeTree(3, number, place).script).join('\n')
  assert.match(scripts(SANDBOX), /kill -9 -1/)
  assert.doesNotMatch(scripts(BARE), /kill -\w+ -1/)
})

test('every script is one that a shell can read', () => {
  const scripts = Array.from({ length: 50 }, (_, number) => makeTree(2, number, BARE).script)
  const { status, stderr } = spawnSync('sh', ['-n'], { input: scripts.join('\n'), encoding: 'utf8' })
  assert.equal(status, 0, stderr)
})
