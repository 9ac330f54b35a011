/**
 * How many requests a provider gets at once. First come, first served: a slot that becomes free is handed to the first
 * waiter, so nobody barges in and the limit is never passed. A slot is one request's, and is given back exactly once.
 */
import type { Clock } from '@beige/protocol'

export type Limiter = {
  /**
   * Resolves with what gives the slot back. Rejects with the signal's reason when it is aborted before that.
   * `onPosition` is told the place in the queue, from 1, whenever it changes; never when there is a slot at once.
   */
  acquire(signal?: AbortSignal, onPosition?: (position: number) => void): Promise<() => void>
  health(): LimiterHealth
}

export type LimiterHealth = {
  /** Infinity: none. */
  limit: number
  active: number
  waiting: number
  oldestWaitMs: number
  oldestHeldMs: number
  /** Somebody has waited beside a free slot for 1 s, which is a bug of this file. */
  isStuck: boolean
}

export type LimiterState = {
  limit: number
  held: ReadonlySet<{ sinceMs: number }>
  waiters: ReadonlySet<{ sinceMs: number }>
}
const STUCK_MS = 1000

type Waiter = { sinceMs: number; give(): void; onPosition: ((position: number) => void) | undefined }

/** `limit` is a whole number from 1, or Infinity. */
export function createLimiter(limit: number, clock: Pick<Clock, 'monotonic'>): Limiter {
  const held = new Set<{ sinceMs: number }>() // in order of their age, as sets are
  const waiters = new Set<Waiter>()

  const take = (): (() => void) => {
    const slot = { sinceMs: clock.monotonic() }
    held.add(slot)
    return () => {
      if (!held.delete(slot)) return
      const [next] = waiters
      if (next !== undefined) next.give()
    }
  }
  const tellPositions = (): void => {
    let position = 0
    for (const waiter of waiters) waiter.onPosition?.(++position)
  }

  return {
    health: () => limiterHealth({ limit, held, waiters }, clock.monotonic()),
    acquire(signal, onPosition) {
      const { promise, resolve, reject } = Promise.withResolvers<() => void>()
      if (signal?.aborted) {
        reject(signal.reason)
        return promise
      }
      if (waiters.size === 0 && held.size < limit) {
        resolve(take())
        return promise
      }
      const leave = (): void => {
        waiters.delete(waiter)
        signal?.removeEventListener('abort', cancel)
        tellPositions()
      }
      const cancel = (): void => {
        leave()
        reject(signal?.reason)
      }
      const waiter: Waiter = {
        sinceMs: clock.monotonic(),
        onPosition,
        give() {
          // Taken before anyone else can run: the slot is never free while somebody waits.
          resolve(take())
          leave()
        },
      }
      waiters.add(waiter)
      signal?.addEventListener('abort', cancel, { once: true })
      onPosition?.(waiters.size)
      return promise
    },
  }
}

export function limiterHealth({ limit, held, waiters }: LimiterState, nowMs: number): LimiterHealth {
  const ageOf = (entries: ReadonlySet<{ sinceMs: number }>): number => {
    const [oldest] = entries
    return oldest === undefined ? 0 : nowMs - oldest.sinceMs
  }
  const oldestWaitMs = ageOf(waiters)
  return {
    limit,
    active: held.size,
    waiting: waiters.size,
    oldestWaitMs,
    oldestHeldMs: ageOf(held),
    isStuck: held.size < limit && oldestWaitMs >= STUCK_MS,
  }
}
