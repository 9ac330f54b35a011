/**
 * Runs one simulation in a thread of its own: the test runner follows every promise of its tests, which makes millions
 * of them several times slower.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { simulateLedger } from './ledger-simulation.ts'
import { everyInterleaving, randomSteps } from './limiter-model.ts'
import type { Simulation } from './run-simulation.ts'

parentPort?.postMessage(await run(workerData))

function run(what: Simulation): Promise<unknown> {
  switch (what.kind) {
    case 'ledger':
      return simulateLedger(what.requests, what.seed)
    case 'orders':
      return everyInterleaving(what.tasks, what.limit, what.isHasty)
    case 'steps':
      return randomSteps(what.steps, what.seed)
    default:
      return what satisfies never
  }
}
