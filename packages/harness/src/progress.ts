/** What viewers see of a call while it runs: the newest output, at most every 100 ms. */
import type { Clock } from '@beige/protocol'
import type { ToolContext } from './tool.ts'

const EVERY_MS = 100

export function throttledProgress(
  clock: Clock,
  show: (snapshot: string, bytes: number) => void,
): ToolContext['progress'] {
  let shownAt = Number.NEGATIVE_INFINITY
  return (snapshot, bytes) => {
    if (clock.monotonic() - shownAt < EVERY_MS) return
    shownAt = clock.monotonic()
    show(snapshot(), bytes)
  }
}
