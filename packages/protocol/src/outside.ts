/**
 * Time and randomness as they are handed in, so that a simulator can own them. Implementations for a real process are
 * `systemClock` and `systemRandom` of this module; nothing else reads the clock or the random source.
 */
export interface Clock {
  /** Wall time, ms since the epoch. May jump. */
  now(): number
  /** Monotonic time in ms, for durations only. */
  monotonic(): number
  /** Resolves after `ms`; rejects with the signal's reason when it is aborted first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

export interface Random {
  bytes(count: number): Uint8Array
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason)
      const onAbort = () => {
        clearTimeout(timer)
        reject(signal?.reason)
      }
      const timer = setTimeout(() => {
        signal?.removeEventListener('abort', onAbort)
        resolve()
      }, ms)
      signal?.addEventListener('abort', onAbort, { once: true })
    }),
}

export const systemRandom: Random = { bytes: count => crypto.getRandomValues(new Uint8Array(count)) }
