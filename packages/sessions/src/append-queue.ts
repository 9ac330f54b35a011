/** Group commit: calls that wait together share one write, one sync and one fence check (design page "Sessions"). */
import type { SessionRecord } from '@beige/protocol'
import type { PreparedBody } from './record-line.ts'

export type QueuedBody = PreparedBody & { at: number }

export interface AppendQueue {
  add(bodies: readonly QueuedBody[]): Promise<readonly SessionRecord[]>
  /** Resolves when nothing is waiting or under way. */
  idle(): Promise<void>
}

const MAX_BATCH_BYTES = 8 * 1024 * 1024 // a call of its own may be larger, it is then alone in its batch

type Waiting = {
  bodies: readonly QueuedBody[]
  bytes: number
  resolve(records: readonly SessionRecord[]): void
  reject(error: unknown): void
}

/** `commit` makes one batch durable and answers with its records in order; a rejection concerns the whole batch. */
export function createAppendQueue(
  commit: (bodies: readonly QueuedBody[]) => Promise<readonly SessionRecord[]>,
): AppendQueue {
  const waiting: Waiting[] = []
  let draining: Promise<void> | null = null

  async function drain(): Promise<void> {
    await Promise.resolve() // what is called in the same instant joins the first batch
    for (let batch = nextBatch(waiting); batch.length > 0; batch = nextBatch(waiting)) {
      try {
        let done = 0
        const records = await commit(batch.flatMap(one => one.bodies))
        for (const { bodies, resolve } of batch) {
          resolve(records.slice(done, done + bodies.length))
          done += bodies.length
        }
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
    }
    draining = null
  }

  return {
    add: bodies =>
      new Promise((resolve, reject) => {
        const bytes = bodies.reduce((sum, body) => sum + body.text.length, 0)
        waiting.push({ bodies, bytes, resolve, reject })
        draining ??= drain()
      }),
    async idle() {
      while (draining) await draining
    },
  }
}

function nextBatch(waiting: Waiting[]): Waiting[] {
  let bytes = 0
  let count = 0
  for (const one of waiting) {
    if (count > 0 && bytes + one.bytes > MAX_BATCH_BYTES) break
    bytes += one.bytes
    count++
  }
  return waiting.splice(0, count)
}
