/** Acknowledged prompts a second, and how long one waits, with so many sessions at work at once. */
import type { BenchContext, Row } from '../bench.ts'
import { rounded } from '../output.ts'
import { quantile } from '../quantile.ts'
import { openLanes } from './lanes.ts'
import type { Subject } from './subject.ts'

const AT_ONCE = [1, 8, 64] as const
const WINDOW_MS = 1000
const WARM_UP_MS = 200
const ROUNDS = 5

/** Windows of all subjects in turn, so that all meet the same machine. */
export async function ackRows(
  subjects: readonly Subject[],
  { rounds = ROUNDS, say, signal }: BenchContext,
): Promise<Row[]> {
  const rows: Row[] = []
  for (const atOnce of AT_ONCE) {
    say(`${atOnce} at once`)
    await using opened = await openLanes(subjects, atOnce)
    for (const lanes of opened.lanes.values()) await window(lanes, WARM_UP_MS, signal)
    const samples = new Map(subjects.map(subject => [subject, { times: [] as number[], ms: 0 }]))
    for (let round = 0; round < rounds; round += 1) {
      for (const [subject, lanes] of opened.lanes) {
        const { times, ms } = await window(lanes, WINDOW_MS, signal)
        const all = samples.get(subject)
        for (const time of times) all?.times.push(time)
        if (all) all.ms += ms
      }
    }
    for (const [{ name }, { times, ms }] of samples) {
      rows.push({
        name: `${name}-${atOnce}`,
        acks_per_s: rounded((times.length * 1000) / ms),
        p50_ms: rounded(quantile(times, 0.5)),
        p99_ms: rounded(quantile(times, 0.99)),
      })
    }
  }
  return rows
}

async function window(
  lanes: readonly { once(): Promise<unknown> }[],
  windowMs: number,
  signal: AbortSignal,
): Promise<{ times: number[]; ms: number }> {
  const startMs = performance.now()
  const times: number[] = []
  const work = async (lane: { once(): Promise<unknown> }): Promise<void> => {
    while (performance.now() - startMs < windowMs) {
      signal.throwIfAborted()
      const sinceMs = performance.now()
      await lane.once()
      times.push(performance.now() - sinceMs)
    }
  }
  await Promise.all(lanes.map(work))
  return { times, ms: performance.now() - startMs }
}
