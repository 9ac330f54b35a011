/**
 * What a new owner does with the calls that the last one left (sessions.md, "The turn that survives"), and how a run
 * that nobody goes on with is closed.
 */
import { asCallId, type EntryId } from '@beige/protocol'
import type { CallState } from '@beige/sessions'
import { createJournal } from './journal.ts'
import type { Session } from './session.ts'
import type { ToolCall, ToolResult } from './tool.ts'
import { errorResult, interrupted } from './tool-pipeline.ts'

const UNKNOWN =
  '[outcome unknown: the owner of this session stopped while the call was running. It may have had its effect; look before you repeat it]'

/** Starts what had not started, repeats what is safe to repeat, and says of the rest that its outcome is unknown. */
export async function settleCalls(
  parts: { session: Session },
  calls: readonly CallState[],
  runCall: (call: ToolCall) => Promise<ToolResult>,
  signal: AbortSignal,
): Promise<void> {
  const journal = createJournal(parts.session, () => {})
  for (const call of calls) {
    if (call.finished) continue
    if (signal.aborted) await journal.answered(call.id, interrupted())
    else if (call.started && !call.started.idempotent) await journal.answered(call.id, unknownOutcome())
    else await runCall({ callId: asCallId(call.id), name: call.name, input: call.input, origin: 'model' })
  }
}

/** Ends an open run without going on with it; afterwards the history is whole and a new prompt may follow. */
export async function closeRun(session: Session, runId: EntryId): Promise<void> {
  const open = session.state().openRun
  if (open?.id !== runId) return
  const journal = createJournal(session, () => {})
  const calls = open.resume.at === 'calls' ? open.resume.calls : []
  for (const call of calls) {
    if (call.finished) continue
    await journal.answered(
      call.id,
      call.started ? unknownOutcome() : interrupted('[interrupted: it did not start]'),
    )
  }
  await session.append({
    type: 'run_end',
    run_id: runId,
    outcome: 'aborted',
    code: 'interrupted',
    error: 'its owner stopped',
    steps: open.steps,
  })
}

function unknownOutcome(): ToolResult {
  return { ...errorResult('unknown_outcome', UNKNOWN), outcome: 'unknown' }
}
