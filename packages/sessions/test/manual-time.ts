/** Time that a test moves by hand: who sleeps moves it on, and ticks that fall due run to their end. */
import type { Clock } from '@beige/protocol'
import type { Ticker } from '../src/outside.ts'

export interface ManualTime {
  readonly clock: Clock
  /** Ticks of one process; frozen, that process is paused or dead. */
  ticker(): Ticker & { freeze(): void; thaw(): void }
  advance(ms: number): Promise<void>
  /** Moves the wall clock alone. */
  jump(ms: number): void
}

type Tick = { everyMs: number; nextAt: number; beat: () => Promise<void>; isFrozen: () => boolean }
const STEP_MS = 50

export function createManualTime(): ManualTime {
  let elapsed = 0
  let wall = 1_800_000_000_000
  const ticks = new Set<Tick>()

  async function advance(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= STEP_MS) {
      const step = Math.min(STEP_MS, left)
      elapsed += step
      wall += step
      for (const tick of ticks) {
        if (tick.nextAt > elapsed) continue
        tick.nextAt = elapsed + tick.everyMs
        if (!tick.isFrozen()) await tick.beat()
      }
    }
  }

  return {
    clock: {
      now: () => wall,
      monotonic: () => elapsed,
      async sleep(ms, signal) {
        signal?.throwIfAborted()
        await advance(ms)
        signal?.throwIfAborted()
      },
    },
    ticker() {
      let frozen = false
      return {
        every(everyMs, beat) {
          const tick = { everyMs, nextAt: elapsed + everyMs, beat, isFrozen: () => frozen }
          ticks.add(tick)
          return () => ticks.delete(tick)
        },
        freeze: () => {
          frozen = true
        },
        thaw: () => {
          frozen = false
        },
      }
    },
    advance,
    jump: ms => {
      wall += ms
    },
  }
}
