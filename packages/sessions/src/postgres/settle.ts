/** Repeats what a database that is away or restarting did not answer. */
import { type Clock, isError } from '@beige/protocol'

/** Longest wait for one operation of a store (service-mode.md, Limits). */
export const STORE_WAIT_MS = 10_000
const FIRST_PAUSE_MS = 50
const MAX_PAUSE_MS = 1000

/** `action` must bear being carried out twice. Rejects with its last error when there was no answer in `waitMs`. */
export async function untilSettled<T>(
  clock: Clock,
  action: () => Promise<T>,
  waitMs: number = STORE_WAIT_MS,
): Promise<T> {
  const until = clock.monotonic() + waitMs
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, MAX_PAUSE_MS)) {
    try {
      return await action()
    } catch (error) {
      const isAway = isError(error, 'store_unreachable', 'answer_lost')
      if (!isAway || clock.monotonic() + pause > until) throw error
      await clock.sleep(pause)
    }
  }
}
