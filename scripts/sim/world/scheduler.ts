/**
 * The only clock and the only queue of a simulation. One event at a time; what it set off in promises runs to its end before
 * the next one is taken, so the order of everything follows from the seed.
 */
import type { Trace } from './trace.ts'

export interface Scheduler {
  /** ms since the beginning. */
  readonly now: number
  /** Calls `run` in `delayMs`; the answer calls it off. */
  after(delayMs: number, name: string, run: () => void): () => void
  /** Takes events until `isOver`. Rejects with what an event throws, and when nothing is left that could happen. */
  run(isOver: () => boolean): Promise<void>
}

/** `at` in whole microseconds: a wait that is not over by a rounding error would be waited for ever. */
type Event = { at: number; order: number; name: string; run: (() => void) | null }

export function createScheduler(trace: Trace): Scheduler {
  const heap: Event[] = []
  let now = 0
  let order = 0

  return {
    get now() {
      return now / 1000
    },
    after(delayMs, name, run) {
      const event: Event = { at: now + Math.max(0, Math.ceil(delayMs * 1000)), order: order++, name, run }
      push(heap, event)
      return () => {
        event.run = null
      }
    },
    run: isOver =>
      new Promise((resolve, reject) => {
        const step = () => {
          try {
            if (isOver()) return resolve()
            const event = pop(heap)
            if (!event) throw new Error('the simulation stands still: nothing is left that could happen')
            if (event.run) {
              now = event.at
              trace.event(now / 1000, event.name)
              event.run()
            }
            // Not a timer: the check phase comes when no promise has anything left to do.
            setImmediate(step)
          } catch (error) {
            reject(error)
          }
        }
        setImmediate(step)
      }),
  }
}

function isBefore(a: Event, b: Event): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order)
}

function push(heap: Event[], event: Event): void {
  let at = heap.length
  heap.push(event)
  while (at > 0) {
    const up = (at - 1) >> 1
    const parent = heap[up]
    if (!parent || !isBefore(event, parent)) break
    heap[at] = parent
    at = up
  }
  heap[at] = event
}

function pop(heap: Event[]): Event | undefined {
  const top = heap[0]
  const last = heap.pop()
  if (!top || !last || heap.length === 0) return top
  let at = 0
  for (;;) {
    const left = heap[2 * at + 1]
    const right = heap[2 * at + 2]
    const child = right && left && isBefore(right, left) ? right : left
    if (!child || !isBefore(child, last)) break
    heap[at] = child
    at = 2 * at + (child === right ? 2 : 1)
  }
  heap[at] = last
  return top
}
