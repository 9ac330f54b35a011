/** Requests beside a reference that counts what was really sent; LEDGER_SEEDS=10 makes it 100,000. Takes minutes. */
import { test } from 'node:test'
import { runSimulation } from '../test/run-simulation.ts'

const SEEDS = Number(process.env.LEDGER_SEEDS ?? 2)

for (let seed = 1; seed <= SEEDS; seed++)
  test(`10,000 requests with aborts, cuts, retries, fallbacks, cache tiers, seed ${seed}: to the last token`, async () => {
    await runSimulation({ kind: 'ledger', requests: 10_000, seed })
  })
