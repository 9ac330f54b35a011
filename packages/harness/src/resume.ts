/**
 * What a new owner does with the calls that the last one left (sessions.md, "The turn that survives"), and how a run
 * that nobody goes on with is closed.
 */
import type { EntryId, ToolStartedBody } from '@beige/protocol'
import type { CallState } from '@beige/sessions'
import { commandLine } from './jobs/job-texts.ts'
import { nextNumber, numberedRecord } from './jobs/session-notes.ts'
import { createJournal } from './journal.ts'
import type { RunParts } from './run.ts'
import type { Session } from './session.ts'
import type { ToolCall, ToolResult } from './tool.ts'
import { errorResult, interrupted } from './tool-pipeline.ts'

/** Joins the jobs, starts what had not started, repeats what is safe to, and says that the rest has an unknown outcome. */
export async function settleCalls(
  parts: Pick<RunParts, 'session' | 'pipeline' | 'emit'>,
  calls: readonly CallState[],
  runCall: (call: ToolCall) => Promise<ToolResult>,
  signal: AbortSignal,
): Promise<void> {
  const { session, pipeline, emit } = parts
  const journal = createJournal(session, () => {})
  for (const { id, name, input, started, finished } of calls) {
    if (finished) continue
    const joins = pipeline.tools.get(name)?.announces ? started?.job : undefined
    emit({ kind: 'tool_start', id, name, input })
    let result: ToolResult
    if (signal.aborted) {
      result = started && !started.idempotent ? await leftBehind(session, started) : interrupted()
      await journal.answered(id, result)
    } else if (started && !started.idempotent && !joins) {
      result = unknownOutcome()
      await journal.answered(id, result)
    } else {
      result = await runCall({ callId: id, name, input, origin: 'model', ...(joins ? { joins } : {}) })
    }
    const { content, isError, outcome, details } = result
    emit({
      ...{ kind: 'tool_end', id, name, result: [...content], is_error: isError },
      ...{ outcome, details: { ...details } },
    })
  }
}

/** Ends an open run without going on with it; afterwards the history is whole and a new prompt may follow. */
export async function closeRun(session: Session, runId: EntryId): Promise<void> {
  const open = session.state().openRun
  if (open?.id !== runId) return
  const journal = createJournal(session, () => {})
  const calls = open.resume.at === 'calls' ? open.resume.calls : []
  for (const { id, started, finished } of calls) {
    if (finished) continue
    const result =
      started && !started.idempotent
        ? await leftBehind(session, started)
        : interrupted('[interrupted: it did not start]')
    await journal.answered(id, result)
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

/** A command that its owner left may still run: it gets a number, so that the model can wait for it or kill it. */
async function leftBehind(session: Session, started: ToolStartedBody): Promise<ToolResult> {
  const { job, input } = started
  if (!job) return unknownOutcome()
  const notes = session.notes()
  const known = [...notes.jobs.values()].find(one => one.id === job.id)
  const number = known?.number ?? nextNumber(notes)
  if (!known) {
    const at = session.log.records.findLast(
      one => one.type === 'tool_started' && one.call_id === started.call_id,
    )
    await session.append(
      numberedRecord({ number, ...job, command: commandIn(input), startedAt: at?.at ?? 0 }),
    )
  }
  return unknownOutcome(`, or still run: it is job ${number}`)
}

/** What a tool was asked to run, under any of its names. */
function commandIn(input: unknown): string {
  if (typeof input !== 'object' || input === null) return ''
  if ('command' in input && typeof input.command === 'string') return commandLine(input.command)
  return 'args' in input && Array.isArray(input.args) ? commandLine(input.args.join(' ')) : ''
}

function unknownOutcome(more = ''): ToolResult {
  const text = `[outcome unknown: the owner of this session stopped while the call was running. It may have had its effect${more}; look before you repeat it]`
  return { ...errorResult('unknown_outcome', text), outcome: 'unknown' }
}
