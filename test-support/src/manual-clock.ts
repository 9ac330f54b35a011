/** A clock that stands still until a test moves it. */
import type { Clock } from '@beige/protocol'

export type ManualClock = Clock & {
  /** Moves time and wakes, in order of their time, the sleeps that are over. */
  advance(ms: number): void
  /** How many sleeps are pending. */
  sleepers(): number
}

export function manualClock(startMs = Date.UTC(2026, 0, 1)): ManualClock {
  let elapsedMs = 0
  const sleeps = new Set<{ atMs: number; wake(): void }>()
  return {
    now: () => startMs + elapsedMs,
    monotonic: () => elapsedMs,
    sleepers: () => sleeps.size,
    sleep(ms, signal) {
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      if (signal?.aborted) {
        reject(signal.reason)
        return promise
      }
      const stop = () => {
        sleeps.delete(entry)
        reject(signal?.reason)
      }
      const entry = {
        atMs: elapsedMs + ms,
        wake() {
          sleeps.delete(entry)
          signal?.removeEventListener('abort', stop)
          resolve()
        },
      }
      signal?.addEventListener('abort', stop, { once: true })
      sleeps.add(entry)
      return promise
    },
    advance(ms) {
      elapsedMs += ms
      const due = [...sleeps].filter(entry => entry.atMs <= elapsedMs).sort((a, b) => a.atMs - b.atMs)
      for (const entry of due) entry.wake()
    },
  }
}
