/** Bad numbers and words about models are refused by name, before anything is asked. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { counted } from './list-models.ts'
import { modelOptions, type RawModelOptions } from './model-options.ts'

const options = (raw: RawModelOptions, env: Record<string, string> = {}) =>
  modelOptions(raw, name => env[name], {})

for (const [raw, said] of [
  [{ budget: 'a lot' }, '--budget'],
  [{ budget: '0' }, '--budget'],
  [{ budget: '-1' }, '--budget'],
  [{ maxTokens: '100' }, '--max-tokens'],
  [{ thinking: '0' }, '--thinking'],
  [{ thinking: '1e99' }, '--thinking'],
  [{ reasoningEffort: 'hard' }, '--reasoning-effort'],
  [{ temperature: 'hot' }, '--temperature'],
  [{ temperature: '3' }, '--temperature'],
  [{ idleTimeoutMs: '-5' }, '--idle-timeout-ms'],
  [{ gatewayUrl: 'gateway' }, '--gateway-url'],
  [{ retryMaxRetries: '1.5' }, '--retry-max-retries'],
] as const)
  test(`${JSON.stringify(raw)} is refused`, () => {
    assert.throws(
      () => options(raw),
      (error: Error) => error.message.includes(said),
    )
  })

test('a raw thinking budget is one for every effort, and turns thinking on', () => {
  const { effort, effortFlag, thinkingBudgets } = options({ thinking: '9000' })
  assert.deepEqual(
    [effort, effortFlag, thinkingBudgets?.low, thinkingBudgets?.xhigh],
    ['medium', 'medium', 9000, 9000],
  )
  assert.equal(options({ thinking: '9000', reasoningEffort: 'high' }).effort, 'high')
})

test('a budget is in dollars', () => {
  assert.equal(options({ budget: '$1.50' }).budgetUsd, 1.5)
  assert.equal(options({}, { BUDGET: '0.25' }).budgetUsd, 0.25)
})

test('tokens in a list are short', () => {
  assert.deepEqual([512, 8192, 32_000, 200_000, 999_999, 1_000_000, 1_048_576, 1_500_000].map(counted), [
    '512',
    '8K',
    '32K',
    '200K',
    '1M',
    '1M',
    '1M',
    '1.5M',
  ])
})
