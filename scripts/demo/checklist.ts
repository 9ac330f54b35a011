/** The head of the demo: one line a step, a spinner while it takes, a mark when it is done, advice when it failed. */
import { createFlow, duration, type Terminal } from '@beige/client'
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

/** `text` behind `lead`, broken between words and indented below itself. */
export function labelled(terminal: Terminal, lead: string, text: string): void {
  const flow = createFlow({ write: terminal.write, width: () => terminal.width, indent: lead.length, lead })
  flow.push(text)
  flow.end()
}

export function checked(terminal: Terminal, name: string, text: string): void {
  labelled(terminal, `  ✓ ${name.padEnd(12)} `, text)
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
    checked(terminal, name, text)
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
