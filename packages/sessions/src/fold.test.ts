import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { RecordBody, SessionRecord } from '@beige/protocol'
import { answer, entry, finished, prompt, started } from '../test/sample-records.ts'
import { createFold, foldSession } from './fold.ts'
import { encodeRecord, FIRST_PREV, prepareBody } from './record-line.ts'

const SESSION: RecordBody = { type: 'session', version: 1, id: 's_1', cwd: '/w', model: 'm' }

function log(...bodies: readonly RecordBody[]): SessionRecord[] {
  return [SESSION, ...bodies].map((body, index) => {
    const prepared = prepareBody(body)
    assert.ok(typeof prepared !== 'string', String(prepared))
    return encodeRecord(prepared, { seq: index + 1, epoch: 1, prev: FIRST_PREV, at: index }).record
  })
}

const end = (run: string, outcome: 'done' | 'aborted' = 'done'): RecordBody => ({
  type: 'run_end',
  run_id: run,
  outcome,
  steps: 1,
})

describe('where a run without an end stands (the takeover table)', () => {
  const at = (...bodies: readonly RecordBody[]) => foldSession(log(...bodies)).openRun?.resume

  test('prompt', () => assert.deepEqual(at(prompt('p', null)), { at: 'prompt' }))
  test('answered without tools', () =>
    assert.deepEqual(at(prompt('p', null), answer('m', 'p')), { at: 'answered', message: 'm' }))
  test('some calls not started, one under way', () => {
    const resume = at(
      prompt('p', null),
      answer('m', 'p', ['c1', 'c2', 'c3']),
      started('c1'),
      finished('c1'),
      started('c2'),
    )
    assert.partialDeepStrictEqual(resume, { at: 'calls', message: 'm' })
    assert.deepEqual(
      resume?.at === 'calls' &&
        resume.calls.map(call => [call.id, call.started !== null, call.finished !== null]),
      [
        ['c1', true, true],
        ['c2', true, false],
        ['c3', false, false],
      ],
    )
  })
  test('all calls finished', () =>
    assert.deepEqual(at(prompt('p', null), answer('m', 'p', ['c1']), started('c1'), finished('c1')), {
      at: 'results',
      message: 'm',
    }))
  test('ended', () => assert.equal(at(prompt('p', null), answer('m', 'p'), end('p')), undefined))
  test('steered while it ran', () => {
    const steer: RecordBody = {
      type: 'message',
      id: 'u',
      parent_id: 'm',
      role: 'user',
      content: [{ type: 'text', text: 'wait' }],
    }
    assert.deepEqual(at(prompt('p', null), answer('m', 'p'), steer), { at: 'prompt' })
  })
  test('the newest run alone, with its steps', () => {
    const state = foldSession(
      log(prompt('p1', null), answer('m1', 'p1', ['c1']), prompt('p2', 'm1'), answer('m2', 'p2')),
    )
    assert.deepEqual([state.openRun?.id, state.openRun?.steps], ['p2', 1])
  })
})

test('the newest start of a call and its first result count', () => {
  const job = { scope: 's', id: 'c1', instance: 'i2' }
  const state = foldSession(
    log(
      prompt('p', null),
      answer('m', 'p', ['c1']),
      started('c1'),
      { ...started('c1'), job },
      finished('c1', 'first'),
      finished('c1', 'second'),
    ),
  )
  const message = state.entries.at(-1)
  assert.ok(message?.kind === 'message')
  assert.deepEqual(message.calls[0]?.started?.job, job)
  assert.deepEqual(message.calls[0]?.finished?.content, [{ type: 'text', text: 'first' }])
})

test('going back is a record: the branch that was left is no part of the entries', () => {
  const bodies = [
    prompt('p1', null),
    answer('m1', 'p1'),
    end('p1'),
    prompt('p2', 'm1'),
    answer('m2', 'p2'),
    end('p2'),
  ]
  const ids = (...more: readonly RecordBody[]) =>
    foldSession(log(...bodies, ...more)).entries.map(one => one.id)
  assert.deepEqual(ids(), ['p1', 'm1', 'p2', 'm2'])
  assert.deepEqual(ids({ type: 'leaf', target_id: 'm1' }), ['p1', 'm1'])
  assert.deepEqual(ids({ type: 'leaf', target_id: 'm1' }, prompt('p3', 'm1')), ['p1', 'm1', 'p3'])
  assert.deepEqual(ids({ type: 'branch', id: 'b', target_id: 'p1' }, prompt('p3', 'b')), ['p1', 'p3'])
  assert.deepEqual(ids({ type: 'leaf', target_id: null }), [])
  assert.deepEqual(ids({ type: 'leaf', target_id: null }, prompt('p3', null)), ['p3'])
  assert.deepEqual(ids({ type: 'leaf', target_id: 'nowhere' }), ['p1', 'm1', 'p2', 'm2'])
})

test('an entry whose parent was lost goes on from what came before it', () => {
  const records = log(prompt('p1', null), answer('m1', 'p1'), prompt('p2', 'm1'), answer('m2', 'p2'))
  const damaged = records.filter(record => !(record.type === 'prompt' && record.id === 'p2'))
  assert.deepEqual(
    foldSession(damaged).entries.map(one => one.id),
    ['p1', 'm1', 'm2'],
  )
})

test('totals, settings, labels, compaction, keys and damage', () => {
  const state = foldSession(
    log(
      prompt('p1', null, 'hi', 'k'),
      answer('m1', 'p1'),
      end('p1', 'aborted'),
      prompt('p2', 'm1', 'hi', 'k'),
      answer('m2', 'p2'),
      { type: 'setting', name: 'model', value: 'a' },
      { type: 'setting', name: 'model', value: 'b' },
      { type: 'label', target_id: 'm1', label: 'here' },
      {
        type: 'compaction',
        id: 'x',
        parent_id: 'm2',
        folded_to: 'p2',
        summary: 's',
        files_read: [],
        files_modified: [],
        tokens_before: 9,
        tokens_after: 1,
      },
      { type: 'damage', segment: '000001.jsonl', offset: 5, length: 6, hash: 'h', seqs: [4] },
      { type: 'custom', kind: 'anything' },
    ),
  )
  assert.deepEqual([state.usage.input_tokens, state.usage.cost_usd], [20, 1])
  assert.equal(state.settings.get('model'), 'b')
  assert.equal(state.labels.get('m1'), 'here')
  assert.equal(state.compaction?.folded_to, 'p2')
  assert.deepEqual([state.leaf, state.entries.length], ['x', 4])
  assert.equal(state.keys.get('k'), 'p1')
  assert.equal(state.runs.get(entry('p1'))?.end?.outcome, 'aborted')
  assert.deepEqual(state.damage, [
    { segment: '000001.jsonl', offset: 5, length: 6, seqs: [4], reason: 'unreadable' },
  ])
})

test('record by record gives what all at once gives, and a state that was given does not change', () => {
  const records = log(
    prompt('p', null),
    answer('m', 'p', ['c1']),
    started('c1'),
    finished('c1'),
    answer('m2', 'm'),
    end('p'),
  )
  const fold = createFold()
  for (const [index, record] of records.entries()) {
    const before = fold.state()
    const copy = structuredClone(before)
    fold.apply(record)
    assert.deepEqual(before, copy)
    assert.deepEqual(fold.state(), foldSession(records.slice(0, index + 1)))
  }
})
