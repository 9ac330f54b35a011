/** A fork holds what led to its point and nothing that belongs to the source alone. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RecordBody, SessionRecord } from '@beige/protocol'
import { createManualTime } from '../../test/manual-time.ts'
import {
  answer,
  entry,
  finished,
  prompt,
  seededRandom,
  sessionId,
  started,
} from '../../test/sample-records.ts'
import { foldSession } from '../fold.ts'
import { createMemoryStore } from '../memory-store.ts'
import { forkBodies, forkPoint, forkSession } from './fork.ts'
import { readTree } from './session-tree.ts'

const end = (run_id: string): RecordBody => ({ type: 'run_end', run_id, outcome: 'done', steps: 2 })
const custom = (kind: string): RecordBody => ({ type: 'custom', kind, data: { n: 1 } })
const JOB = { scope: 's_A', id: 'c1', instance: 'i' }

const SOURCE: readonly RecordBody[] = [
  prompt('p1', null, 'first', 'key-1'),
  answer('a1', 'p1', ['c1']),
  { ...started('c1'), job: JOB },
  finished('c1'),
  answer('a1b', 'a1'),
  end('p1'),
  { type: 'label', target_id: 'a1', label: 'old name' },
  { type: 'label', target_id: 'a1', label: 'here' },
  { type: 'setting', name: 'exec_endpoint', value: { url: 'http://elsewhere' } },
  { type: 'setting', name: 'model', value: 'm2' },
  custom('beige.job'),
  custom('beige.notice'),
  custom('mcp_task'),
  custom('mine'),
  prompt('p2', 'a1b', 'second', 'key-2'),
  answer('a2', 'p2', ['c2']),
  started('c2'),
  finished('c2'),
  answer('a2b', 'a2'),
  end('p2'),
  { type: 'setting', name: 'model', value: 'm3' },
]

async function source() {
  const { clock } = createManualTime()
  const store = createMemoryStore({ clock, random: seededRandom(1) })
  const first = { id: sessionId('s_A'), cwd: '/work', model: 'm1', title: 'T', meta: { agent: 'demo' } }
  const log = await store.create(first, ...SOURCE)
  return { store, log, tree: readTree(log.records) }
}
const brief = (records: readonly (SessionRecord | RecordBody)[]) =>
  records.map(record => ('id' in record && record.type !== 'session' ? record.id : record.type))

test('a fork in front of a prompt holds what led to it, without keys, jobs and endpoints', async () => {
  const { store, tree, log } = await source()
  const copy = await forkSession({
    store,
    tree,
    id: sessionId('s_B'),
    point: forkPoint(tree, { targetId: 'p2', before: true }),
  })
  assert.partialDeepStrictEqual(copy.records[0], {
    type: 'session',
    id: 's_B',
    parent: 's_A',
    cwd: '/work',
    model: 'm2',
    title: 'T',
    meta: { agent: 'demo' },
  })
  assert.deepEqual(brief(copy.records), [
    'session',
    'p1',
    'a1',
    'tool_started',
    'tool_finished',
    'a1b',
    'run_end',
    'setting',
    'custom',
    'custom',
    'label',
  ])
  const text = JSON.stringify(copy.records)
  for (const gone of ['key-1', 'elsewhere', 'beige.job', 'mcp_task', 'old name', '"job"'])
    assert.ok(!text.includes(gone), gone)
  for (const kept of ['beige.notice', 'mine', 'here']) assert.ok(text.includes(kept), kept)
  const state = foldSession(copy.records)
  assert.equal(state.openRun, null)
  assert.equal(state.keys.size, 0)
  assert.deepEqual(log.records, await store.read(sessionId('s_A')))
})

test('a run that the point cuts off is ended in the copy', async () => {
  const { tree } = await source()
  const bodies = forkBodies(tree, entry('a2'))
  const lastEnd = (all: readonly RecordBody[]) => all.findLast(body => body.type === 'run_end')
  assert.deepEqual(lastEnd(bodies), {
    type: 'run_end',
    run_id: 'p2',
    outcome: 'aborted',
    code: 'forked',
    steps: 1,
  })
  assert.equal(bodies.filter(body => body.type === 'run_end').length, 2)
  assert.deepEqual(lastEnd(forkBodies(tree, entry('p1'))), {
    type: 'run_end',
    run_id: 'p1',
    outcome: 'aborted',
    code: 'forked',
    steps: 0,
  })
})

test('a clone is the fork at the leaf, with the same history', async () => {
  const { store, tree, log } = await source()
  const copy = await forkSession({ store, tree, id: sessionId('s_C'), point: forkPoint(tree, {}) })
  const [before, after] = [foldSession(log.records), foldSession(copy.records)]
  assert.deepEqual(
    after.entries.map(one => [
      one.id,
      one.kind === 'message' && one.calls.map(call => call.finished?.content),
    ]),
    before.entries.map(one => [
      one.id,
      one.kind === 'message' && one.calls.map(call => call.finished?.content),
    ]),
  )
  assert.equal(after.settings.get('model'), 'm3')
})

test('points are counted in messages of the branch, or named', async () => {
  const { tree } = await source()
  assert.equal(forkPoint(tree, { upto: 0 }), null)
  assert.equal(forkPoint(tree, { upto: 3 }), 'a1b')
  assert.equal(forkPoint(tree, { upto: 4, before: true }), 'a1b')
  assert.equal(forkPoint(tree, {}), 'a2b')
  assert.throws(() => forkPoint(tree, { upto: 7 }), { code: 'unknown_id' })
  assert.throws(() => forkPoint(tree, { targetId: 'x' }), { code: 'unknown_id' })
  assert.deepEqual(brief(forkBodies(tree, null)), [])
})

test('damage of the source stays told, and is not taken for damage of the copy', async () => {
  const { log } = await source()
  const damage: RecordBody = {
    type: 'damage',
    segment: '000001.jsonl',
    offset: 10,
    length: 20,
    hash: 'h',
    seqs: [3, 4],
    reason: 'unreadable',
  }
  await log.append(damage)
  const tree = readTree(log.records)
  assert.deepEqual(
    forkBodies(tree, tree.leaf).find(body => body.type === 'damage'),
    {
      type: 'damage',
      segment: 's_A/000001.jsonl',
      offset: 10,
      length: 20,
      hash: 'h',
      reason: 'unreadable, 2 records missing',
    },
  )
})
