/** 100,000 requests beside a reference that counts what was really sent. Takes minutes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { simulateLedger } from '../test/ledger-simulation.ts'

for (let seed = 1; seed <= 10; seed++)
  test(`10,000 requests with aborts, cuts, retries, fallbacks, cache tiers, seed ${seed}: to the last token`, async () => {
    const { attempts, ends } = await simulateLedger(10_000, seed)
    assert.ok(attempts > 5000, JSON.stringify(ends))
  })
