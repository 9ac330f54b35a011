/** A part of `ledger-equals-the-reference.engine.test.ts`, for every check. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { simulateLedger } from '../test/ledger-simulation.ts'

test('300 requests with aborts, cuts, retries, fallbacks, cache tiers: to the last token', async () => {
  const { attempts, ends } = await simulateLedger(300, 7)
  assert.ok(attempts > 200, JSON.stringify(ends))
  for (const end of ['done', 'aborted', 'rate_limit', 'overloaded', 'transient', 'budget'])
    assert.ok((ends[end] ?? 0) > 0, `${end}: ${JSON.stringify(ends)}`)
})
