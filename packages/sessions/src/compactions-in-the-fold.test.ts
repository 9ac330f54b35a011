/** What a provider is told of a branch that was compacted, while entries still show everything. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CompactionBody, RecordBody, SessionRecord } from '@beige/protocol'
import { answer, prompt } from '../test/sample-records.ts'
import { foldSession } from './fold.ts'

const compaction = (id: string, parent_id: string, folded_to: string | null): CompactionBody => ({
  type: 'compaction',
  id,
  parent_id,
  folded_to,
  summary: `of ${id}`,
  files_read: [],
  files_modified: [],
  tokens_before: 9,
  tokens_after: 1,
})
const SESSION: RecordBody = { type: 'session', version: 1, id: 's_1', cwd: '/w' }

function told(...bodies: readonly RecordBody[]): { context: string[]; entries: string[] } {
  const envelope = { epoch: 1, prev: '0'.repeat(32), at: 0 }
  const records: SessionRecord[] = [SESSION, ...bodies].map((body, seq) => ({
    ...body,
    seq: seq + 1,
    ...envelope,
  }))
  const state = foldSession(records)
  return {
    context: state.context.map(one => (one.kind === 'summary' ? one.text : one.id)),
    entries: state.entries.map(one => one.id),
  }
}
const TURNS = [prompt('p1', null), answer('m1', 'p1'), prompt('p2', 'm1'), answer('m2', 'p2')]

test('the summary stands for what was folded, what follows is sent as it is', () => {
  assert.deepEqual(told(...TURNS, compaction('k', 'm2', 'p2'), prompt('p3', 'k')), {
    context: ['of k', 'p2', 'm2', 'p3'],
    entries: ['p1', 'm1', 'p2', 'm2', 'p3'],
  })
})

test('without a place to fold to, all before it is folded', () => {
  assert.deepEqual(told(...TURNS, compaction('k', 'm2', null), prompt('p3', 'k')).context, ['of k', 'p3'])
})

test('the newest compaction counts, also where it keeps what is older than the one before', () => {
  const bodies = [...TURNS, compaction('k1', 'm2', 'p2'), prompt('p3', 'k1'), answer('m3', 'p3')]
  assert.deepEqual(told(...bodies, compaction('k2', 'm3', 'm3')).context, ['of k2', 'm3'])
  assert.deepEqual(told(...bodies, compaction('k2', 'm3', 'm2')).context, ['of k2', 'm2', 'p3', 'm3'])
})

test('a compaction of another branch folds nothing here', () => {
  const bodies = [...TURNS, compaction('k', 'm2', 'p2')]
  assert.deepEqual(told(...bodies, { type: 'leaf', target_id: 'm1' }, prompt('p3', 'm1')).context, [
    'p1',
    'm1',
    'p3',
  ])
})

test('where damage took the entry that it folds to, an older compaction holds, or nothing is folded', () => {
  const lost = [...TURNS, compaction('k', 'm2', 'gone'), prompt('p3', 'k')]
  assert.deepEqual(told(...lost).context, ['p1', 'm1', 'p2', 'm2', 'p3'])
  const older = [...TURNS, compaction('k1', 'm2', 'p2'), compaction('k2', 'k1', 'gone')]
  assert.deepEqual(told(...older).context, ['of k1', 'p2', 'm2'])
})
