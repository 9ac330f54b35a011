/**
 * One process of the simulated machine: what it waits for reaches it while it runs, is held while it is paused, and never
 * comes once it is dead. What it has asked the kernel for goes on without it.
 */
import type { Clock } from '@beige/protocol'
import type { Ticker } from '@beige/sessions'
import type { Scheduler } from './scheduler.ts'

/** An operation that the kernel was asked for and has not done yet; `share` is how much of it is done when its caller dies. */
export type KernelWork = { do(share: number): void }

export interface SimProcess {
  readonly name: string
  readonly state: 'running' | 'paused' | 'dead'
  readonly clock: Clock
  readonly ticker: Ticker
  /** Its wall clock from now on, in ms beside the true time. */
  jump(ms: number): void
  /** Calls `run` in this process in `delayMs`. The answer calls it off. */
  after(delayMs: number, name: string, run: () => void): () => void
  /** The kernel does `work` in `delayMs`, whatever becomes of the process, and then tells it the outcome. */
  kernel<T>(delayMs: number, name: string, work: () => T, torn?: (share: number) => void): Promise<T>
  pause(): void
  resume(): void
  /** `share` says for each operation in flight how much of it is done: 0 nothing, 1 all, between: torn. */
  kill(share: () => number): void
}

export const EPOCH_MS = 1_800_000_000_000 // where the wall clocks begin

export function createSimProcess(scheduler: Scheduler, name: string): SimProcess {
  let state: SimProcess['state'] = 'running'
  let wallOffset = 0
  let held: (() => void)[] = []
  const inFlight = new Set<KernelWork>()

  function inside(run: () => void): void {
    if (state === 'running') run()
    else if (state === 'paused') held.push(run)
  }

  function after(delayMs: number, what: string, run: () => void): () => void {
    let isOff = false
    const cancel = scheduler.after(delayMs, `${name} ${what}`, () =>
      inside(() => {
        if (!isOff) run()
      }),
    )
    return () => {
      isOff = true
      cancel()
    }
  }

  const clock: Clock = {
    now: () => Math.floor(EPOCH_MS + scheduler.now + wallOffset),
    monotonic: () => scheduler.now,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason)
        const onAbort = () => {
          cancel()
          reject(signal?.reason)
        }
        const cancel = after(ms, 'wakes', () => {
          signal?.removeEventListener('abort', onAbort)
          resolve()
        })
        signal?.addEventListener('abort', onAbort, { once: true })
      }),
  }

  const ticker: Ticker = {
    every(intervalMs, beat) {
      let isBeating = false
      let cancel = () => {}
      const next = () => {
        cancel = after(intervalMs, 'ticks', () => {
          next()
          if (isBeating) return
          isBeating = true
          void beat().finally(() => {
            isBeating = false
          })
        })
      }
      next()
      return () => cancel()
    },
  }

  return {
    name,
    get state() {
      return state
    },
    clock,
    ticker,
    jump: ms => {
      wallOffset += ms
    },
    after,
    kernel: <T>(delayMs: number, what: string, work: () => T, torn: (share: number) => void = () => {}) =>
      new Promise<T>((resolve, reject) => {
        if (state === 'dead') return
        const doing: KernelWork = {
          do(share) {
            cancel()
            if (share >= 1) attempt(work)
            else if (share > 0) attempt(() => torn(share))
          },
        }
        const cancel = scheduler.after(delayMs, `${name} ${what}`, () => {
          inFlight.delete(doing)
          const outcome = attempt(work)
          inside(() => (outcome.ok ? resolve(outcome.value) : reject(outcome.error)))
        })
        inFlight.add(doing)
      }),
    pause: () => {
      if (state === 'running') state = 'paused'
    },
    resume() {
      if (state !== 'paused') return
      state = 'running'
      const due = held
      held = []
      // In the order of their coming, each with its promises run before the next.
      for (const [index, run] of due.entries()) after(index * 0.001, 'goes on', run)
    },
    kill(share) {
      state = 'dead'
      held = []
      for (const work of inFlight) work.do(share())
      inFlight.clear()
    },
  }
}

type Attempt<T> = { ok: true; value: T } | { ok: false; error: unknown }

function attempt<T>(work: () => T): Attempt<T> {
  try {
    return { ok: true, value: work() }
  } catch (error) {
    return { ok: false, error }
  }
}
