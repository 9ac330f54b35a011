/** A run: from a durable prompt to a durable `run_end`, also where another owner began it. */

import type { ModelRouter } from '@beige/models'
import {
  type AgentEvent,
  type BeigeError,
  type CallId,
  type Clock,
  type EntryId,
  isError,
  messageOf,
  type Random,
  type RunOutcome,
} from '@beige/protocol'
import type { AgentLoopConfig } from '@earendil-works/pi-agent-core'
import type { Api, Model } from '@earendil-works/pi-ai'
import type { ApprovalGate } from './approval.ts'
import { fail } from './errors.ts'
import type { JobBook } from './jobs/job-book.ts'
import type { Lanes } from './lanes/lanes.ts'
import { settleCalls } from './resume.ts'
import type { Session } from './session.ts'
import type { Hands, Tool } from './tool.ts'
import type { Pipeline } from './tool-pipeline.ts'
import { createTurn, storageError } from './turn.ts'

export type RunParts = {
  session: Session
  runId: EntryId
  /** True when another owner began it. */
  resumed: boolean
  router: ModelRouter
  model: Model<Api>
  reasoning?: AgentLoopConfig['reasoning'] | undefined
  maxTokens?: number
  /** Model turns that this run may take. */
  maxSteps?: number
  /** True: images are never sent to the model. */
  blockImages?: boolean
  /** Asked at each boundary: what was said meanwhile, and whether the run is to end there. */
  lanes?: Pick<Lanes, 'takeAtBoundary' | 'takeAtStop' | 'steered'>
  stopAfterTurn?: () => boolean
  /** Absent: no call is asked about. */
  approval?: ApprovalGate
  /** Asked for before the first model request of the run; what it rejects with is what the run fails with. */
  systemPrompt: (signal: AbortSignal) => Promise<string>
  /** What the model is offered; the pipeline may know more (launchers). */
  tools: readonly Tool[]
  pipeline: Pipeline
  hands: Hands
  /** The session's background work; absent: commands end with their calls. */
  jobs?: JobBook
  cwd: string
  seenFiles: Map<string, string>
  /** Environment of the commands of a call. */
  callEnv: (callId: CallId, runId: EntryId) => Readonly<Record<string, string>>
  clock: Clock
  random: Random
  emit: (event: AgentEvent) => void
}

export type RunResult = {
  outcome: RunOutcome
  steps: number
  stopReason: string
  /** The last assistant message's text. */
  text: string
  /** Why it did not end as `done`. */
  error: BeigeError | null
}

/** Never throws: what went wrong is in the result, and in the `run_end` where that could be written. */
export async function run(parts: RunParts, signal: AbortSignal): Promise<RunResult> {
  const { session, emit, runId } = parts
  emit({ kind: 'agent_start', run_id: runId, resumed: parts.resumed })
  const prompt = session.state().runs.get(runId)
  if (prompt && !parts.resumed) {
    emit({ kind: 'committed', entry_id: runId, role: 'user', record_seq: prompt.promptSeq })
  }
  const result = await runToEnd(parts, signal)
  const end = await written(session, parts, result)
  if (end.error && end.outcome !== 'aborted') {
    emit({ kind: 'error', message: end.error.message, code: end.error.code })
  }
  emit({ kind: 'agent_end', steps: end.steps, outcome: end.outcome })
  return end
}

async function runToEnd(parts: RunParts, signal: AbortSignal): Promise<RunResult> {
  const { session } = parts
  const open = session.state().openRun
  const turn = createTurn(parts, open?.steps ?? 0, signal)
  try {
    if (open?.resume.at === 'calls') await settleCalls(parts, open.resume.calls, turn.runCall, turn.signal)
    if (open?.resume.at !== 'answered') await turn.loop(await systemPromptOf(parts, turn.signal))
    // What was said while it worked is answered by the same run.
    while (turn.hasStopped() && ((await turn.takeAtStop()) || (await turn.askForOutput()))) {
      await turn.loop(await systemPromptOf(parts, turn.signal))
    }
    return turn.result()
  } catch (error) {
    return turn.failed(error)
  }
}

async function systemPromptOf({ systemPrompt }: RunParts, signal: AbortSignal): Promise<string> {
  try {
    return await systemPrompt(signal)
  } catch (error) {
    throw isError(error) ? error : fail('not_ready', { reason: messageOf(error) }, error)
  }
}

/** A run that could not write its end stays open in the log; its client is told so. */
async function written(session: Session, parts: RunParts, result: RunResult): Promise<RunResult> {
  try {
    await session.append({
      type: 'run_end',
      run_id: parts.runId,
      outcome: result.outcome,
      steps: result.steps,
      ...(result.error ? { code: result.error.code, error: result.error.message } : {}),
    })
    return result
  } catch (error) {
    return { ...result, outcome: 'failed', error: storageError(error) }
  }
}
