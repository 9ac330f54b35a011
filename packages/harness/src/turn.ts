/**
 * The loop of one run. It is pi-agent-core's; ours hang into it: the router is its stream function, the boundary its
 * `prepareRequest`, checkpoint and journal its awaited listeners, the pipeline each tool's `execute`.
 */

import { newRoutingRun, type RequestOutcome, type RouterNotice } from '@beige/models'
import { BeigeError, type CallId, isError, messageOf, newEntryId, type RunOutcome } from '@beige/protocol'
import {
  type AgentLoopConfig,
  type AgentTool,
  type AgentEvent as LoopEvent,
  runAgentLoopContinue,
} from '@earendil-works/pi-agent-core'
import type { Api, Message, Model, SystemMessage } from '@earendil-works/pi-ai'
import { normalizeContext } from '@earendil-works/pi-ai/utils/transcript'
import { type Checkpoint, createCheckpoint } from './checkpoint.ts'
import { fail } from './errors.ts'
import { createJournal } from './journal.ts'
import type { Said } from './lanes/lanes.ts'
import { createLocks } from './locks.ts'
import { throttledProgress } from './progress.ts'
import { toProviderHistory } from './provider-history.ts'
import type { RunParts, RunResult } from './run.ts'
import type { Session } from './session.ts'
import { noticeEvent, stopReasonOf } from './stream-events.ts'
import { OUTPUT_TOOL, outputFormOf, outputOf, outputTool } from './structured-output.ts'
import type { ToolCall, ToolResult } from './tool.ts'

const MAX_ASKED = 2
const OWED = `The task is not done before its answer is given: call ${OUTPUT_TOOL} now.`

type FailedRequest = Extract<RequestOutcome, { state: 'failed' }>

export type Turn = {
  /** Aborted from outside, or from inside by what the run then fails with. */
  signal: AbortSignal
  /** Asks the model and runs its calls until it stops. */
  loop(systemPrompt: string): Promise<unknown>
  runCall(call: ToolCall): Promise<ToolResult>
  /** The model has nothing left to do, and nothing else ended the run. */
  hasStopped(): boolean
  /** False where nothing was queued. */
  takeAtStop(): Promise<boolean>
  /** Tells a model that stopped without the output that it owes; false where it owes none, or was told often enough. */
  askForOutput(): Promise<boolean>
  result(): RunResult
  failed(error: unknown): RunResult
}

export function createTurn(parts: RunParts, stepsBefore: number, outer: AbortSignal): Turn {
  const { session, router, pipeline, clock, emit } = parts
  const stop = new AbortController() // ends the loop from inside; the reason is what the run fails with
  const signal = AbortSignal.any([outer, stop.signal])
  const results = new Map<CallId, ToolResult>()
  const form = outputFormOf(session.state(), parts.runId)
  const runTools = form ? [outputTool(form, () => (isGiven = true))] : []
  let isGiven = outputOf(session.state(), parts.runId) !== undefined
  const order = createLocks()
  let failure: FailedRequest | null = null
  let asked = 0
  const routing = newRoutingRun(answeredLast(session))
  const journal = createJournal(session, record =>
    emit({ kind: 'committed', entry_id: record.callId, role: 'tool', record_seq: record.seq }),
  )
  const checkpoint: Checkpoint = createCheckpoint(
    {
      session,
      clock,
      random: parts.random,
      emit,
      resultOf: id => results.get(id),
      answered: (callId, result) => journal.answered(callId, result),
    },
    stepsBefore,
  )

  /** One call of the model through the pipeline; what can not be written down ends the run. */
  async function runCall(call: ToolCall, callSignal: AbortSignal): Promise<ToolResult> {
    const result = await pipeline.runCall(call, {
      sessionId: session.log.id,
      hands: parts.hands,
      cwd: parts.cwd,
      signal: callSignal,
      env: parts.callEnv(call.callId, parts.runId),
      seenFiles: parts.seenFiles,
      journal,
      runTools,
      ...(parts.jobs ? { jobs: parts.jobs } : {}),
      ...(parts.approval ? { approval: parts.approval } : {}),
      ...(parts.lanes ? { steered: parts.lanes.steered } : {}),
      progress: throttledProgress(clock, (snapshot, bytes) =>
        emit({ kind: 'tool_progress', id: call.callId, name: call.name, snapshot, bytes }),
      ),
    })
    results.set(call.callId, result)
    return result
  }

  async function execute(name: string, id: string, input: unknown): Promise<ToolResult> {
    const callId = checkpoint.callId(id)
    const inputError = checkpoint.inputError(callId)
    const tool = runTools.find(one => one.name === name) ?? pipeline.tools.get(name)
    const release = await order.acquire('order', tool?.mode ?? 'shared', signal)
    try {
      const call: ToolCall = {
        callId,
        name,
        input: inputError === undefined ? input : inputError,
        origin: 'model',
      }
      return await runCall(call, signal)
    } catch (error) {
      stop.abort(error)
      throw error
    } finally {
      release()
    }
  }

  const loopTool = (tool: { name: string; description: string }): AgentTool => ({
    name: tool.name,
    label: tool.name,
    description: tool.description,
    parameters: {}, // the pipeline validates, with better words and for every origin alike
    execute: async (id, input) => {
      const result = await execute(tool.name, id, input)
      const content = result.content.map(block =>
        block.type === 'text'
          ? ({ type: 'text', text: block.text } as const)
          : ({ type: 'image', data: block.data, mimeType: block.media_type } as const),
      )
      return { content, details: undefined, isError: result.isError }
    },
  })
  const offered = [...parts.tools, ...runTools]
  const loopTools = offered.map(loopTool)

  async function listen(event: LoopEvent): Promise<void> {
    await checkpoint.listen(event)
    if (event.type !== 'message_end' || event.message.role !== 'assistant') return
    // A name that nobody offered goes to the pipeline too, which says so, with the nearest names, and audits it.
    for (const block of event.message.content) {
      if (block.type !== 'toolCall' || loopTools.some(tool => tool.name === block.name)) continue
      loopTools.push(loopTool({ name: block.name, description: '' }))
    }
  }

  const systemMessage = (content: string): SystemMessage => ({
    role: 'system',
    content,
    toolsAdded: offered.map(tool => ({
      name: tool.name,
      description: tool.description,
      parameters: tool.inputSchema,
    })),
    timestamp: 0,
  })
  const history = (system: SystemMessage, model: Model<Api> = parts.model): Message[] => [
    system,
    ...toProviderHistory(
      session.state().context,
      {
        provider: model.provider,
        api: model.api,
        id: model.id,
        vision: model.input.includes('image') && parts.blockImages !== true,
      },
      session.notes().notices,
    ),
  ]

  const config = (system: SystemMessage): AgentLoopConfig => ({
    model: parts.model,
    sessionId: session.log.id,
    toolExecution: 'parallel', // our own locks keep exclusive calls alone and in place
    convertToLlm: messages => messages.filter(isProviderMessage),
    prepareRequest: async () => {
      await parts.jobs?.boundary(signal)
      told(await parts.lanes?.takeAtBoundary())
      return {
        model: parts.model,
        thinkingLevel: parts.reasoning ?? 'off',
        context: { messages: history(system), tools: loopTools },
      }
    },
    finishTurn: () => {
      if (signal.aborted || isGiven || parts.stopAfterTurn?.()) return { action: 'end' }
      if (parts.maxSteps === undefined || checkpoint.steps() - stepsBefore < parts.maxSteps) return undefined
      if (checkpoint.last()?.stopReason !== 'toolUse') return undefined
      stop.abort(fail('max_steps', { steps: parts.maxSteps }))
      return { action: 'end' }
    },
    ...(parts.reasoning === undefined ? {} : { reasoning: parts.reasoning }),
    ...(parts.maxTokens === undefined ? {} : { maxTokens: parts.maxTokens }),
  })

  function told(said: readonly Said[] = []): void {
    if (said.length === 0) return
    for (const { entryId, recordSeq } of said) {
      emit({ kind: 'committed', entry_id: entryId, role: 'user', record_seq: recordSeq })
    }
    emit({ kind: 'steered', messages: said.map(({ entryId, text }) => ({ entry_id: entryId, text })) })
  }

  const noticed = (notice: RouterNotice): void => {
    if (notice.type === 'discarded') checkpoint.discarded(notice.reason, notice.attempt)
    else emit(noticeEvent(notice))
  }

  const loop = (systemPrompt: string) => {
    const system = systemMessage(systemPrompt)
    return runAgentLoopContinue(
      { messages: history(system), tools: loopTools },
      config(system),
      listen,
      signal,
      (model, context, options) =>
        router.stream({
          sessionId: session.log.id,
          model,
          context,
          contextFor: other => normalizeContext({ messages: history(system, other) }),
          options: options ?? {},
          run: routing,
          onNotice: noticed,
          onOutcome: outcome => {
            failure = outcome.state === 'failed' ? outcome : null
          },
        }),
    )
  }

  const ended = (outcome: RunOutcome, error: BeigeError | null): RunResult => ({
    outcome,
    steps: checkpoint.steps(),
    stopReason:
      outcome === 'aborted' ? 'aborted' : checkpoint.last() ? stopReasonOf(lastOf(checkpoint)) : 'end_turn',
    text: lastText(session),
    error,
  })

  function result(): RunResult {
    if (stop.signal.aborted) return failed(stop.signal.reason)
    if (outer.aborted) return ended('aborted', fail('aborted', {}, outer.reason))
    const last = checkpoint.last()
    if (failure?.failure.cause === 'refused' || (last && stopReasonOf(last) === 'refusal'))
      return ended('refused', null)
    if (last?.stopReason === 'error')
      return ended('failed', modelError(parts.model, failure, last.errorMessage))
    if (form && !isGiven && !parts.stopAfterTurn?.()) return ended('failed', fail('no_output'))
    return ended('done', null)
  }

  function failed(error: unknown): RunResult {
    if (outer.aborted && !stop.signal.aborted) return ended('aborted', fail('aborted', {}, error))
    return ended('failed', error instanceof BeigeError ? error : storageError(error))
  }

  return {
    signal,
    loop,
    hasStopped: () => {
      const last = checkpoint.last()
      if (signal.aborted || failure || parts.stopAfterTurn?.()) return false
      if (isGiven) return false
      return last === null || (last.stopReason === 'stop' && stopReasonOf(last) !== 'refusal')
    },
    askForOutput: async () => {
      if (!form || isGiven || asked >= MAX_ASKED) return false
      asked += 1
      const id = newEntryId(clock, parts.random)
      const [record] = await session.append({
        ...({ type: 'message', id, parent_id: session.state().leaf, role: 'user' } as const),
        content: [{ type: 'text', text: OWED }],
      })
      if (record) emit({ kind: 'committed', entry_id: id, role: 'user', record_seq: record.seq })
      return true
    },
    takeAtStop: async () => {
      const said = (await parts.lanes?.takeAtStop()) ?? []
      told(said)
      return said.length > 0
    },
    result,
    failed,
    runCall: (call: ToolCall) => runCall(call, signal),
  }
}

function lastOf(checkpoint: Checkpoint) {
  const last = checkpoint.last()
  if (!last) throw fail('model', { model: 'the model', reason: 'no message' })
  return last
}

function lastText(session: Session): string {
  const entry = session
    .state()
    .entries.findLast(one => one.kind === 'message' && one.body.role === 'assistant')
  if (entry?.kind !== 'message') return ''
  return entry.body.content.map(block => (block.type === 'text' ? block.text : '')).join('')
}

function isProviderMessage(message: { role: string }): message is Message {
  return ['system', 'user', 'assistant', 'toolResult'].includes(message.role)
}

function modelError(model: Model<Api>, failed: FailedRequest | null, text: string | undefined): BeigeError {
  if (failed?.class === 'budget') return fail('budget', { reason: failed.failure.message })
  return fail('model', {
    model: `${model.provider}/${model.id}`,
    reason: failed?.failure.message ?? text ?? 'no reason given',
    ...(failed
      ? {
          class: failed.class,
          cause: failed.failure.cause,
          status: failed.failure.status,
          retry_after_ms: failed.failure.retryAfterMs,
          retry_at: failed.retryAtMs,
          tried: failed.tried,
        }
      : {}),
  })
}

/** The model of the newest answer in the log, whichever run it belongs to. */
function answeredLast(session: Session): { provider: string; id: string } | null {
  const entry = session
    .state()
    .entries.findLast(one => one.kind === 'message' && one.body.role === 'assistant')
  return (entry?.kind === 'message' ? entry.body.model : null) ?? null
}

export function storageError(error: unknown): BeigeError {
  if (isError(error)) return error
  return fail('storage', { reason: messageOf(error) }, error)
}
