/** What vendors and proxies really send, over real HTTP: plain, and at the first, a middle and the last place of a stream. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Clock, systemClock } from '@beige/protocol'
import { type CannedAnswer, cannedStream, startAnswerServer } from '@beige/test-support'
import type { Expected, Row } from '../test/error-shapes.ts'
import { NOW, ROWS } from '../test/error-table.ts'
import { ask, failed, KEY, ONCE, system, user } from '../test/wires.ts'
import { classify } from './classify.ts'
import { createModelRouter, type RequestFailure } from './index.ts'

// Retry times are against the answer's own date; what has none is against this clock.
const clock: Clock = { ...systemClock, now: () => NOW }
const APIS = {
  anthropic: 'anthropic-messages',
  'openai-chat': 'openai-completions',
  'openai-responses': 'openai-responses',
  gemini: 'google-generative-ai',
  google: 'google-generative-ai',
  bedrock: 'bedrock-converse-stream',
} as const

async function failureAt(row: Pick<Row, 'vendor' | 'wire'>, answer: CannedAnswer): Promise<RequestFailure> {
  const dated = { ...answer, headers: { date: new Date(NOW).toUTCString(), ...answer.headers } }
  await using server = await startAnswerServer(() => dated)
  const baseUrl = row.wire === 'anthropic' ? server.url : `${server.url}/v1`
  const models = [{ id: 'm-1', contextWindow: 100_000, maxTokens: 4096 }]
  const router = await createModelRouter({
    providers: { [row.vendor]: { apiKey: KEY, baseUrl, api: APIS[row.wire], models } },
    env: {},
    fallback: ONCE,
    clock,
  })
  const answered = await ask({ router, model: router.resolve(`${row.vendor}/m-1`) }, [system, user('hi')])
  assert.equal(server.requests.length, 1, 'an attempt is one request')
  return failed(answered)
}

function check(failure: RequestFailure, row: Row, expected: Expected): void {
  const found = classify(failure, row.vendor)
  const label = JSON.stringify(failure)
  assert.equal(found.class, expected.class, label)
  assert.equal(found.cooldown?.ms, expected.cooldownMs, label)
  if (expected.statedMs !== undefined) assert.equal(found.cooldown?.statedMs, expected.statedMs, label)
  assert.equal(found.waitMs, expected.waitMs ?? null, label)
  assert.equal(found.alarm !== null, expected.alarm ?? false, label)
  assert.equal(
    found.cooldown?.scope,
    found.cooldown === null ? undefined : expected.class === 'quota' ? 'provider' : 'model',
  )
}

for (const row of ROWS) {
  const { answer, event } = row
  if (answer !== undefined)
    test(`${row.from}: ${row.what}`, async () => check(await failureAt(row, answer), row, row.means))
  if (event === undefined) continue
  const whole = cannedStream(row.wire, { text: 'an answer that is not to be whole', chunkChars: 6 })
  const places = { first: 0, middle: Math.floor(whole.length / 2), last: whole.length - 1 }
  for (const [place, at] of Object.entries(places))
    test(`${row.from}: ${row.what}, as the ${place} event of a stream`, async () => {
      const headers = { 'content-type': 'text/event-stream' }
      const failure = await failureAt(row, { headers, body: [...whole.slice(0, at), event] })
      check(failure, row, row.streamed ?? row.means)
    })
}
