/** The head of the demo: one line a step, a spinner while it takes, a mark when it is done, advice when it failed. */
import { duration, type Terminal } from '@beige/client'
import { systemClock } from '@beige/protocol'

export class StepFailed extends Error {
  readonly step: string
  readonly advice: string
  constructor(step: string, reason: string, advice: string) {
    super(reason)
    this.step = step
    this.advice = advice
  }
}

/** Runs `work` under a spinner named `name`; its answer is the line's text. */
export async function step<T>(
  terminal: Terminal,
  name: string,
  doing: string,
  work: () => Promise<{ text: string; value: T }>,
): Promise<T> {
  const startedAt = systemClock.monotonic()
  const timer = terminal.live
    ? setInterval(() => {
        const ms = duration(systemClock.monotonic() - startedAt)
        terminal.write(`\r\x1b[K  … ${name.padEnd(12)} ${doing} ${ms}`)
      }, 200)
    : null
  try {
    const { text, value } = await work()
    clear(terminal, timer)
    terminal.write(`  ✓ ${name.padEnd(12)} ${text}\n`)
    return value
  } catch (error) {
    clear(terminal, timer)
    throw error
  }
}

function clear(terminal: Terminal, timer: ReturnType<typeof setInterval> | null): void {
  if (!timer) return
  clearInterval(timer)
  terminal.write('\r\x1b[K')
}
