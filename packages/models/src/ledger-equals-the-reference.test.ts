/** A part of `ledger-equals-the-reference.engine.test.ts`, for every check. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runSimulation } from '../test/run-simulation.ts'

test('600 requests with aborts, cuts, retries, fallbacks, cache tiers: to the last token', async () => {
  const result = JSON.stringify(await runSimulation({ kind: 'ledger', requests: 600, seed: 7 }))
  for (const end of ['done', 'aborted', 'rate_limit', 'overloaded', 'transient', 'budget'])
    assert.match(result, new RegExp(`"${end}":[1-9]`))
})
