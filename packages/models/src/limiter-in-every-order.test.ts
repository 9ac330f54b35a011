/** Never over the limit, never a lost slot, never a waiter beside a free one. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runSimulation } from '../test/run-simulation.ts'

for (const limit of [1, 2, 3])
  for (const isHasty of [false, true])
    test(`all orders of 4 tasks with aborts, limit ${limit}${isHasty ? ', hasty' : ''}`, async () => {
      assert.equal(await runSimulation({ kind: 'orders', tasks: 4, limit, isHasty }), 105 * 16)
    })

test('100,000 random steps', async () => {
  await runSimulation({ kind: 'steps', steps: 100_000, seed: 3 })
})
