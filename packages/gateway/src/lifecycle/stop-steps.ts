/** One step of the stop: it has its own deadline, and what fails or hangs is said while the next step still runs (H83). */
import type { Clock } from '@beige/protocol'
import type { GatewayLog } from '../home/gateway-log.ts'

export async function stopStep(
  name: string,
  timeoutMs: number,
  parts: { log: GatewayLog; clock: Clock },
  work: (signal: AbortSignal) => Promise<unknown>,
): Promise<void> {
  const deadline = new AbortController()
  const done = new AbortController()
  const late = parts.clock.sleep(timeoutMs, done.signal).then(
    () => {
      deadline.abort()
      return 'late' as const
    },
    () => 'done' as const,
  )
  try {
    // A step that listens to its signal ends with the deadline; one that does not is left behind.
    const ended = await Promise.race([work(deadline.signal).then(() => 'done' as const), late])
    if (ended === 'late') parts.log.write('warn', `stop: ${name} was not done after ${timeoutMs} ms`)
  } catch (error) {
    parts.log.error(`stop: ${name}`, error)
  } finally {
    done.abort()
  }
}
