/**
 * One wish to stop may come as several signals: a terminal tells the whole group, and npm and `timeout` pass on to their
 * child what the group has had already. Taken for a second press, the echo would end a program before it has tidied up.
 */
import type { Clock } from './outside.ts'

const ECHO_MS = 300 // shorter than a person takes to press twice

/** The same listener, called once for signals that come in one breath. */
export function oncePerPress<Name>(
  clock: Pick<Clock, 'monotonic'>,
  listener: (name: Name) => void,
): (name: Name) => void {
  let pressedAt = Number.NEGATIVE_INFINITY
  return name => {
    const now = clock.monotonic()
    if (now - pressedAt < ECHO_MS) return
    pressedAt = now
    listener(name)
  }
}
