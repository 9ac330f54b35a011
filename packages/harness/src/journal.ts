/** The log's side of a tool call: `tool_started` is durable before it runs, `tool_finished` before a model reads it. */
import type { CallId, ToolFinishedBody } from '@beige/protocol'
import type { Session } from './session.ts'
import type { JobRef, ToolCall, ToolResult } from './tool.ts'
import type { Journal } from './tool-pipeline.ts'

export interface SessionJournal extends Journal {
  /** The answer of a call that never reached the pipeline. */
  answered(callId: CallId, result: ToolResult): Promise<void>
}

export function createJournal(
  session: Session,
  committed: (record: { callId: CallId; seq: number }) => void,
): SessionJournal {
  const answered = async (callId: CallId, result: ToolResult) => {
    const body: ToolFinishedBody = {
      type: 'tool_finished',
      call_id: callId,
      content: [...result.content],
      is_error: result.isError,
      outcome: result.outcome,
      details: { ...result.details },
    }
    const [record] = await session.append(body)
    if (record) committed({ callId, seq: record.seq })
  }
  const started = async (call: ToolCall, idempotent: boolean, job: JobRef | null) => {
    await session.append({
      type: 'tool_started',
      call_id: call.callId,
      name: call.name,
      input: call.input,
      idempotent,
      ...(job ? { job } : {}),
    })
  }
  return {
    // One that announces its effect may be run again until it has.
    started: (call, tool) => started(call, tool.idempotent || tool.announces === true, null),
    begun: (call, tool, job) => started(call, tool.idempotent, job),
    finished: (call, result) => answered(call.callId, result),
    answered,
  }
}
