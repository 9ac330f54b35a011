/** Where a run without `run_end` stands: the takeover table of the page, "The turn that survives". */
import type { EntryId, MessageBody } from '@beige/protocol'
import type { CallState, ResumePoint } from './state.ts'

type Last = { id: EntryId } & (
  | { kind: 'message'; body: MessageBody }
  | { kind: 'prompt' | 'compaction' | 'branch' }
)

/** `last`: the newest prompt or message of the run; `calls`: those of that message. */
export function resumePoint(last: Last, calls: readonly CallState[]): ResumePoint {
  // What a person said while the run went on (steering) has to reach the model like a prompt.
  if (last.kind !== 'message' || last.body.role === 'user') return { at: 'prompt' }
  const message = last.id
  if (calls.length === 0) return { at: 'answered', message }
  return calls.every(call => call.finished) ? { at: 'results', message } : { at: 'calls', message, calls }
}
