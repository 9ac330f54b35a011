/** The tree of a session: what hangs where, branches, going elsewhere, labels. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RecordBody, SessionRecord } from '@beige/protocol'
import { answer, entry, finished, prompt, started } from '../../test/sample-records.ts'
import { foldSession } from '../fold.ts'
import {
  labelBody,
  leftBehind,
  listBranches,
  pointOf,
  settingsAt,
  switchBodies,
  userTurns,
} from './branches.ts'
import { nodesSince, readTree } from './session-tree.ts'

const SESSION: RecordBody = { type: 'session', version: 1, id: 's_T', cwd: '/w', model: 'm1' }
const end = (run_id: string): RecordBody => ({ type: 'run_end', run_id, outcome: 'done', steps: 1 })

function records(...bodies: readonly RecordBody[]): SessionRecord[] {
  return bodies.map((body, index) => ({
    ...body,
    seq: index + 1,
    epoch: 1,
    prev: '0'.repeat(32),
    at: 1000 + index,
  }))
}

/** p1 ─ a1 ─ p2 ─ a2, then back to a1: p3 ─ a3. */
const FORKED = [
  SESSION,
  prompt('p1', null, 'first\nline two'),
  answer('a1', 'p1', ['c1']),
  started('c1'),
  finished('c1'),
  end('p1'),
  { type: 'setting', name: 'model', value: 'm2' },
  prompt('p2', 'a1', 'second'),
  answer('a2', 'p2'),
  end('p2'),
  { type: 'leaf', target_id: 'a1' },
  { type: 'setting', name: 'model', value: 'm3' },
  prompt('p3', 'a1', 'third'),
  answer('a3', 'p3'),
] as const satisfies readonly RecordBody[]
const tree = readTree(records(...FORKED))
const ids = (nodes: readonly { id: string }[]) => nodes.map(node => node.id)

test('every record is a node: entries hang below each other, others stand beside what they concern', () => {
  assert.deepEqual(
    tree.nodes.map(node => [node.id, node.parentId, node.isEntry]),
    [
      ['#1', null, false],
      ['p1', null, true],
      ['a1', 'p1', true],
      ['#4', 'a1', false],
      ['#5', 'a1', false],
      ['#6', 'a1', false],
      ['#7', 'a1', false],
      ['p2', 'a1', true],
      ['a2', 'p2', true],
      ['#10', 'a2', false],
      ['#11', 'a1', false],
      ['#12', 'a1', false],
      ['p3', 'a1', true],
      ['a3', 'p3', true],
    ],
  )
  assert.equal(tree.leaf, 'a3')
  assert.deepEqual(ids(tree.pathTo('a2')), ['p1', 'a1', 'p2', 'a2'])
  assert.deepEqual(tree.childrenOf(entry('a1')), ['p2', 'p3'])
  assert.deepEqual(ids(nodesSince(tree, 'p3')), ['a3'])
  assert.throws(() => nodesSince(tree, 'p9'), { code: 'unknown_id' })
})

test('branches are told newest first, by what was said last on them', () => {
  assert.deepEqual(listBranches(tree), [
    { leafId: 'a3', rootId: 'p1', messages: 4, preview: 'third', updatedAt: 1013 },
    { leafId: 'a2', rootId: 'p1', messages: 4, preview: 'second', updatedAt: 1008 },
  ])
  assert.deepEqual(listBranches(readTree([])), [])
  assert.deepEqual(userTurns(tree), [
    { entryId: 'p1', text: 'first\nline two' },
    { entryId: 'p2', text: 'second' },
    { entryId: 'p3', text: 'third' },
  ])
})

test('settings are those of the place, not the newest ones', () => {
  const model = (point: string | null) => settingsAt(tree, point).get('model')
  assert.deepEqual([null, 'p1', 'p2', 'a2', 'a3'].map(model), ['m1', 'm1', 'm2', 'm2', 'm3'])
})

test('going back moves the leaf and sets the model of that place again', () => {
  const bodies = switchBodies(tree, pointOf(tree, 'a2'))
  assert.deepEqual(bodies, [
    { type: 'leaf', target_id: 'a2' },
    { type: 'setting', name: 'model', value: 'm2' },
  ])
  const after = foldSession(records(...FORKED, ...bodies))
  assert.deepEqual(
    after.entries.map(one => one.id),
    ['p1', 'a1', 'p2', 'a2'],
  )
  assert.deepEqual(ids(leftBehind(tree, pointOf(tree, 'a2'))), ['p3', 'a3'])
  assert.equal(pointOf(tree, 'p2', true), 'a1')
  assert.equal(pointOf(tree, 'p1', true), null)
  assert.throws(() => pointOf(tree, 'c1'), { code: 'unknown_id' })
})

test('a summary of what is left begins a branch that is told it', () => {
  const bodies = switchBodies(tree, pointOf(tree, 'a2'), { summary: 'tried three', id: entry('b1') })
  const after = foldSession(records(...FORKED, ...bodies, prompt('p4', 'b1')))
  assert.deepEqual(
    after.context.map(one => (one.kind === 'summary' ? [one.of, one.text] : one.id)),
    ['p1', 'a1', 'p2', 'a2', ['branch', 'tried three'], 'p4'],
  )
  assert.deepEqual(
    after.entries.map(one => one.id),
    ['p1', 'a1', 'p2', 'a2', 'p4'],
  )
})

test('a label is one line, a blank one takes it away', () => {
  const set = labelBody(tree, 'a1', ' before\nthe change ')
  assert.deepEqual(set, { type: 'label', target_id: 'a1', label: 'before the change' })
  const labelled = records(...FORKED, set)
  assert.equal(readTree(labelled).labels.get('a1'), 'before the change')
  const cleared = records(...FORKED, set, labelBody(tree, 'a1', '  '))
  assert.equal(readTree(cleared).labels.size, 0)
  assert.throws(() => labelBody(tree, 'nope', 'x'), { code: 'unknown_id' })
})

test('what damage took leaves nothing out: an orphan hangs below what came before', () => {
  const all = records(...FORKED)
  const torn = readTree(all.filter(record => record.seq !== 3 && record.seq !== 1))
  assert.equal(torn.session, null)
  assert.deepEqual(ids(torn.pathTo('a2')), ['p1', 'p2', 'a2'])
  assert.equal(torn.nodes.find(node => node.id === '#4')?.parentId, 'p1')
})

test('a tree that points in circles ends', () => {
  const looped = readTree(records(SESSION, prompt('x', 'x'), prompt('y', 'x'), prompt('x', 'y')))
  assert.ok(looped.pathTo('y').length <= 4)
  listBranches(looped)
})
