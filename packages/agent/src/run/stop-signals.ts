/** The first signal ends the run cleanly, the second ends the process at once. */
import { constants } from 'node:os'
import type { ProcessWorld } from '../process-world.ts'

export type StopSignals = {
  /** Aborted by the first signal. */
  readonly signal: AbortSignal
  /** 128 + its number, once there was one. */
  exitCode(): number | null
  dispose(): void
}

export function stopSignals(world: ProcessWorld): StopSignals {
  const controller = new AbortController()
  let code: number | null = null
  const dispose = world.onSignal(name => {
    const number = 128 + constants.signals[name]
    if (code !== null) world.exit(number)
    code = number
    controller.abort(new DOMException(`stopped by ${name}`, 'AbortError'))
  })
  return { signal: controller.signal, exitCode: () => code, dispose }
}
