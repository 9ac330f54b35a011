/** Starts a simulation in a thread and gives its result. */
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'

export type Simulation =
  | { kind: 'ledger'; requests: number; seed: number }
  | { kind: 'orders'; tasks: number; limit: number; isHasty: boolean }
  | { kind: 'steps'; steps: number; seed: number }

/** Rejects with what the simulation found wrong. */
export async function runSimulation(what: Simulation): Promise<unknown> {
  const worker = new Worker(new URL('./simulation-thread.ts', import.meta.url), { workerData: what })
  const [result]: unknown[] = await once(worker, 'message') // rejects on its error
  await worker.terminate()
  return result
}
