/** Measures subjects: one call after the other in turn, and as many at once as are asked for. */
import { callOnce, type Subject } from './subject.ts'

/** Times `rounds` calls of each; a round calls every subject once, so that all meet the same machine. */
export async function timeInTurn(
  subjects: readonly Subject[],
  rounds: number,
  signal: AbortSignal,
): Promise<Map<Subject, number[]>> {
  const times = new Map(subjects.map((subject): [Subject, number[]] => [subject, []]))
  for (let round = 0; round < rounds; round += 1) {
    for (const [subject, samples] of times) {
      const sinceMs = performance.now()
      await callOnce(subject, signal)
      samples.push(performance.now() - sinceMs)
    }
  }
  return times
}

/** Calls a second with `atOnce` in flight; calls that are under way at the end are waited for and counted. */
export async function callsPerSecond(
  subject: Subject,
  atOnce: number,
  windowMs: number,
  signal: AbortSignal,
): Promise<number> {
  const startMs = performance.now()
  let done = 0
  const lane = async (): Promise<void> => {
    while (performance.now() - startMs < windowMs) {
      await callOnce(subject, signal)
      done += 1
    }
  }
  await Promise.all(Array.from({ length: atOnce }, lane))
  return (done * 1000) / (performance.now() - startMs)
}
