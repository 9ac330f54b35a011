/** The whole of `limiter-in-every-order.test.ts`: takes about a minute. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { everyInterleaving, randomSteps } from '../test/limiter-model.ts'

for (const [limit, isHasty] of [
  [1, true],
  [2, false],
] as const)
  test(`all orders of 6 tasks with aborts, limit ${limit}${isHasty ? ', hasty' : ''}`, async () => {
    assert.equal(await everyInterleaving(6, limit, isHasty), 10_395 * 64)
  })

test('1,000,000 random steps', async () => {
  for (let seed = 100; seed < 200; seed++) await randomSteps(10_000, seed)
})
