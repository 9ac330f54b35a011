/** Waiting with an end: for runs when the server stops, for sessions to be released. */
import type { SessionHost } from '@beige/host'
import type { Clock } from '@beige/protocol'

/** Runs in flight may end by themselves for so long. */
export async function runsEnded(
  host: Pick<SessionHost, 'live'>,
  graceMs: number,
  clock: Clock,
): Promise<void> {
  const runs = host.live().flatMap(live => (live.run ? [live.run.ended.catch(() => {})] : []))
  if (graceMs > 0 && runs.length > 0) await within(graceMs, Promise.all(runs), clock)
}

/** Resolves when the work has ended or the time is over. */
export async function within(ms: number, work: Promise<unknown>, clock: Clock): Promise<void> {
  const over = new AbortController()
  try {
    await Promise.race([work, clock.sleep(ms, over.signal)])
  } finally {
    over.abort()
  }
}
