/** Time as it is, for stores that go by the clock of another program; only the wall clock can be made to jump. */
import { systemClock } from '@beige/protocol'
import { systemTicker } from '../src/node-world.ts'
import type { ManualTime } from './manual-time.ts'

export function createRealTime(): ManualTime {
  let jumped = 0
  return {
    clock: { ...systemClock, now: () => systemClock.now() + jumped },
    ticker() {
      let frozen = false
      return {
        every: (everyMs, beat) => systemTicker.every(everyMs, async () => (frozen ? undefined : beat())),
        freeze: () => {
          frozen = true
        },
        thaw: () => {
          frozen = false
        },
      }
    },
    advance: ms => systemClock.sleep(ms),
    jump: ms => {
      jumped += ms
    },
  }
}
