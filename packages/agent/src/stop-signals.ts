/** What ends the command from outside. The first signal ends it cleanly, the second at once; so does a closed stdout. */
import { constants } from 'node:os'
import type { ProcessWorld } from './process-world.ts'

export type Stopped = { by: 'signal' | 'output'; exitCode: number }

export type StopSignals = {
  /** Aborted by the first of them. */
  readonly signal: AbortSignal
  stopped(): Stopped | null
  dispose(): void
}

/** `hangUp`: SIGHUP calls it and ends nothing, as is the custom of servers. */
export function stopSignals(
  world: Pick<ProcessWorld, 'onSignal' | 'onOutputClosed' | 'exit'>,
  options: { hangUp?: () => void } = {},
): StopSignals {
  const controller = new AbortController()
  let stopped: Stopped | null = null
  const stop = (first: Stopped, what: string) => {
    stopped = first
    controller.abort(new DOMException(what, 'AbortError'))
  }
  const offSignal = world.onSignal(name => {
    if (name === 'SIGHUP' && options.hangUp) return options.hangUp()
    const exitCode = 128 + constants.signals[name]
    if (stopped) world.exit(exitCode)
    stop({ by: 'signal', exitCode }, `stopped by ${name}`)
  })
  const offOutput = world.onOutputClosed(() => {
    if (!stopped) stop({ by: 'output', exitCode: 0 }, 'nobody reads the output')
  })
  return {
    signal: controller.signal,
    stopped: () => stopped,
    dispose: () => {
      offSignal()
      offOutput()
    },
  }
}
