/** 100,000 requests beside a reference that counts what was really sent. Takes minutes. */
import { test } from 'node:test'
import { runSimulation } from '../test/run-simulation.ts'

for (let seed = 1; seed <= 10; seed++)
  test(`10,000 requests with aborts, cuts, retries, fallbacks, cache tiers, seed ${seed}: to the last token`, async () => {
    await runSimulation({ kind: 'ledger', requests: 10_000, seed })
  })
