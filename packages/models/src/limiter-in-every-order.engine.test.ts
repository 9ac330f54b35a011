/** The whole of `limiter-in-every-order.test.ts`: takes about a minute. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runSimulation } from '../test/run-simulation.ts'

for (const limit of [1, 2])
  for (const isHasty of [false, true])
    test(`all orders of 6 tasks with aborts, limit ${limit}${isHasty ? ', hasty' : ''}`, async () => {
      assert.equal(await runSimulation({ kind: 'orders', tasks: 6, limit, isHasty }), 10_395 * 64)
    })

test('1,000,000 random steps', async () => {
  for (let seed = 100; seed < 110; seed++) await runSimulation({ kind: 'steps', steps: 100_000, seed })
})
