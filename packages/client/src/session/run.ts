/** A prompt that was sent: what its run tells while it goes on, and how it ended. */
import type { AgentEvent, PromptResult } from '@beige/protocol'

export type Accepted = { runId: string; isDuplicate: boolean }

/** Iterates the run's events from now on; ends with the run. Its errors come out of `result` alone. */
export type Run = AsyncIterable<AgentEvent> & {
  /** The prompt is durable. Rejects when it was refused. */
  accepted: Promise<Accepted>
  result: Promise<PromptResult>
}

/** Events that wait for a reader. */
export type EventQueue = AsyncIterable<AgentEvent> & { push(event: AgentEvent): void; end(): void }

export function createEventQueue(): EventQueue {
  const waiting: AgentEvent[] = []
  let wake = Promise.withResolvers<void>()
  let hasEnded = false
  return {
    push: event => {
      waiting.push(event)
      wake.resolve()
    },
    end: () => {
      hasEnded = true
      wake.resolve()
    },
    async *[Symbol.asyncIterator]() {
      for (;;) {
        yield* waiting.splice(0)
        if (waiting.length > 0) continue
        if (hasEnded) return
        wake = Promise.withResolvers()
        await wake.promise
      }
    },
  }
}
