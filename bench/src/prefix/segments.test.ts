/** What counts as a repetition of the last request, and what breaks it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { repeatOf, segmentsOf } from './segments.ts'

const anthropic = (messages: readonly object[], system = 'be brief') =>
  segmentsOf(
    'anthropic',
    { model: 'm', tools: [{ name: 'bash' }], system: [{ text: system }], messages },
    '/',
  )

const user = (text: string, more: object = {}) => ({
  role: 'user',
  content: [{ type: 'text', text, ...more }],
})

test('what is appended breaks nothing, and a mark of the cache that moved is none', () => {
  const last = anthropic([user('one', { cache_control: { type: 'ephemeral' } })])
  const now = anthropic([user('one'), user('two', { cache_control: { type: 'ephemeral' } })])
  const repeat = repeatOf(last, now)
  assert.equal(repeat.broken, null)
  assert.equal(repeat.repeated, repeat.lastBytes)
  assert.ok(repeat.bytes > repeat.lastBytes)
})

test('the first thing that is another is named, and nothing behind it counts', () => {
  const last = anthropic([user('one'), user('two')])
  assert.equal(repeatOf(last, anthropic([user('one'), user('two')], 'be long')).broken?.kind, 'system')
  const other = repeatOf(last, anthropic([user('ONE'), user('two')]))
  assert.equal(other.broken?.kind, 'history')
  assert.ok(other.repeated < other.lastBytes)
  assert.equal(repeatOf(last, anthropic([user('one')])).broken?.is, '(nothing)')
})

test('every wire has its tools, its system text and its history in this order', () => {
  const bodies = {
    'openai-chat': { model: 'm', messages: [{ role: 'system' }, { role: 'user' }], tools: [{}] },
    'openai-responses': { model: 'm', input: [{ role: 'developer' }, { role: 'user' }], tools: [{}] },
    gemini: { systemInstruction: {}, contents: [{ role: 'user', parts: [{}] }], tools: [{}] },
    bedrock: {
      system: [{ text: 's' }, { cachePoint: {} }],
      messages: [{ role: 'user', content: [{ text: 'a' }, { cachePoint: {} }] }],
      toolConfig: { tools: [{}] },
    },
  } as const
  for (const [wire, body] of Object.entries(bodies))
    assert.deepEqual(
      segmentsOf(wire as keyof typeof bodies, body, '/model/m').map(segment => segment.kind),
      ['model', 'tools', 'system', 'history'],
      wire,
    )
})
