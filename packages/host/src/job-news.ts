/** What a live session does when a job of its sandbox begins or ends: viewers are told, and where it is wanted a run begins. */
import type { JobBook, NumberedJob } from '@beige/harness'
import type { AgentEvent, Clock } from '@beige/protocol'

export const WAKE_MS = 2_000 // ends that come within it are told together
const WAKE_PROMPT = 'Background work has ended; the notice says which.'

export function jobEvent({ number, ended }: NumberedJob): AgentEvent {
  const event = { kind: 'job_update', job: number } as const
  if (!ended) return { ...event, state: 'started' }
  if (ended.end.how === 'gone') return { ...event, state: 'lost' }
  return { ...event, state: 'ended', exit_code: ended.end.exit_code, signal: ended.end.signal }
}

/** Begins a run soon after it was asked to, unless one is there then or nothing is left to be told. */
export function createWaker(parts: {
  clock: Clock
  jobs: Pick<JobBook, 'hasNews'>
  isIdle: () => boolean
  begin: (message: string) => void
  signal: AbortSignal
}): { soon(): void } {
  const { clock, jobs, isIdle, begin, signal } = parts
  let isWaiting = false
  return {
    soon() {
      if (isWaiting || !jobs.hasNews()) return
      isWaiting = true
      clock.sleep(WAKE_MS, signal).then(
        () => {
          isWaiting = false
          if (isIdle() && jobs.hasNews()) begin(WAKE_PROMPT)
        },
        () => {},
      )
    },
  }
}
