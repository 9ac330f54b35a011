/** Never over the limit, never a lost slot, never a waiter beside a free one. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { everyInterleaving, randomSteps } from '../test/limiter-model.ts'

for (const limit of [1, 2])
  for (const isHasty of [false, true])
    test(`all orders of up to 4 tasks with aborts, limit ${limit}${isHasty ? ', hasty' : ''}`, async () => {
      for (let count = 1; count <= 4; count++) assert.ok((await everyInterleaving(count, limit, isHasty)) > 0)
    })

test('100,000 random steps', async () => {
  for (let seed = 1; seed <= 10; seed++) await randomSteps(10_000, seed)
})
