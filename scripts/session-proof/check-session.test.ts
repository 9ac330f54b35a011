/** What is right passes; each kind of wrong is seen as what it is. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RecordBody, SessionRecord } from '@beige/protocol'
import { checkSession, type SessionEvidence, type Violation } from './check-session.ts'
import type { LedgerLine, Told } from './told.ts'

const ID = 's_1'
const TOKEN = 's_1.a.0.0'

const bodies: readonly RecordBody[] = [
  { type: 'session', version: 1, id: ID, cwd: '/w' },
  ...['a', 'b'].flatMap((key): RecordBody[] => [
    {
      ...{ type: 'prompt', id: `p_${key}`, parent_id: null, idempotency_key: key, origin: { kind: 'test' } },
      message: [{ type: 'text', text: `task ${key} 1` }],
    },
    {
      ...{ type: 'tool_started', call_id: `c_${key}`, name: 'bash', idempotent: false },
      input: { command: key === 'a' ? `effect ${TOKEN} 1 2` : 'true' },
    },
    {
      ...{ type: 'tool_finished', call_id: `c_${key}`, is_error: false, outcome: 'done' },
      content: [],
    },
    { type: 'run_end', run_id: `p_${key}`, outcome: 'done', steps: 1 },
  ]),
]
const records: readonly SessionRecord[] = bodies.map((body, index) => ({
  ...{ seq: index + 1, epoch: 1, prev: '0'.repeat(32), at: 0 },
  ...body,
}))
const line: LedgerLine = { number: 1, scope: ID, token: TOKEN, job: 'c_a', atMs: 3 }
const told: readonly Told[] = [
  { kind: 'sent', key: 'a', atMs: 1 },
  { kind: 'acked', key: 'a', runId: 'p_a', atMs: 2 },
  { kind: 'committed', id: 'p_a', role: 'user', seq: 2, epoch: 1, atMs: 2 },
  { kind: 'asked', keys: ['a'], atMs: 2 },
  {
    ...{ kind: 'tool', callId: 'c_a', name: 'bash', outcome: 'done', isError: false, atMs: 4 },
    text: `effect 1 of ${TOKEN}`,
  },
  { kind: 'ended', key: 'a', runId: 'p_a', outcome: 'done', text: 'done a', atMs: 5 },
  { kind: 'sent', key: 'b', atMs: 6 },
  { kind: 'acked', key: 'b', runId: 'p_b', atMs: 7 },
]
const right: SessionEvidence = { id: ID, told, records, ledger: [line] }

test('what is right has no violation', () => {
  assert.deepEqual(checkSession(right), [])
})

const without = (index: number) => records.filter((_, at) => at !== index)
const moved = (from: number, seq: number) => records.map((one, at) => (at === from ? { ...one, seq } : one))
const first: Told = { kind: 'committed', id: 'p_b', role: 'user', seq: 2, epoch: 2, atMs: 8 }
const wrongs: readonly (readonly [string, Violation['kind'], Partial<SessionEvidence>])[] = [
  ['a prompt that was acknowledged is gone', 'lost', { records: without(1) }],
  ['an end that was told is gone', 'lost', { records: without(4) }],
  ['a result that was told is gone', 'lost', { records: without(3) }],
  ['all is gone', 'lost', { records: [] }],
  ['a key has two prompts', 'duplicated', { records: [...records, ...moved(1, 10).slice(1, 2)] }],
  [
    'a key is said to be two runs',
    'duplicated',
    { told: [...told, { kind: 'acked', key: 'a', runId: 'p_b', atMs: 9 }] },
  ],
  ['a number comes twice', 'duplicated', { records: moved(3, 3) }],
  ['a record is under another number than was told', 'reordered', { told: [...told, { ...first, seq: 3 }] }],
  [
    'a prompt comes before what was acknowledged before it',
    'reordered',
    {
      told: told.map(one => ({
        ...one,
        atMs:
          one.kind === 'sent' && one.key === 'a' ? 8 : one.kind === 'acked' && one.key === 'a' ? 9 : one.atMs,
      })),
    },
  ],
  ['two records were told under one number', 'forked', { told: [...told, first] }],
  [
    'an epoch goes back',
    'forked',
    { records: records.map((one, at) => ({ ...one, epoch: at === 2 ? 2 : 1 })) },
  ],
  [
    'a model was shown another history',
    'forked',
    { told: [...told, { kind: 'asked', keys: ['b'], atMs: 9 }] },
  ],
  ['a prompt that nobody sent', 'phantom', { told: told.filter(one => !('key' in one) || one.key !== 'b') }],
  ['an effect without a call', 'phantom', { ledger: [line, { ...line, number: 2, token: 's_1.x' }] }],
  ['a told effect that was none', 'phantom', { ledger: [] }],
  ['an effect twice', 'repeated', { ledger: [line, { ...line, number: 2 }] }],
]
for (const [name, kind, wrong] of wrongs) {
  test(`${name}: ${kind}`, () => {
    const kinds = checkSession({ ...right, ...wrong }).map(one => one.kind)
    assert.ok(kinds.includes(kind), kinds.join(', '))
  })
}
