/**
 * Listens to the loop: what the model said becomes a durable record before anything acts on it, and viewers are told
 * what happens. The loop awaits every listener, so a write that fails here stops the tools behind it (H19).
 */

import {
  type AgentEvent,
  type CallId,
  type Clock,
  type ContentBlock,
  type MessageBody,
  newCallId,
  newEntryId,
  type Random,
} from '@beige/protocol'
import type { AgentEvent as LoopEvent } from '@earendil-works/pi-agent-core'
import type { AssistantMessage } from '@earendil-works/pi-ai'
import type { Session } from './session.ts'
import { endEvents, startEvent, stopReasonOf, streamEvents, usageOf } from './stream-events.ts'
import type { ToolResult } from './tool.ts'

export type CheckpointParts = {
  session: Session
  clock: Clock
  random: Random
  emit: (event: AgentEvent) => void
  /** The result that a call of ours ended with; undefined when the loop answered it without running it. */
  resultOf: (callId: CallId) => ToolResult | undefined
  /** Makes durable the answer of a call that the loop gave itself. */
  answered: (callId: CallId, result: ToolResult) => Promise<void>
}

export type Checkpoint = {
  listen: (event: LoopEvent) => Promise<void>
  /** What was streamed of the message so far is void: another attempt begins. */
  discarded: (reason: string, attempt: number) => void
  /** The newest assistant message, failed ones included. */
  last: () => AssistantMessage | null
  steps: () => number
  callId: (id: string) => CallId
  /** Why the arguments of a call were no JSON object. */
  inputError: (id: CallId) => string | undefined
}

export function createCheckpoint(parts: CheckpointParts, stepsBefore: number): Checkpoint {
  const { session, clock, random, emit } = parts
  let steps = stepsBefore
  let last: AssistantMessage | null = null
  let streamed = false
  let attempts = 0
  let idsByIndex = new Map<number, CallId>()
  const inputErrors = new Map<CallId, string>()
  const known = new Map<string, CallId>()

  const callIdAt = (index: number): CallId => {
    const id = idsByIndex.get(index) ?? newCallId(clock, random)
    idsByIndex.set(index, id)
    known.set(id, id)
    return id
  }

  async function committed(message: AssistantMessage): Promise<void> {
    const stopReason = stopReasonOf(message)
    // What an abort cut off is no call: its arguments are not whole.
    const content = contentOf(message, stopReason === 'aborted')
    if (content.length === 0 && stopReason === 'aborted') return
    const body: MessageBody = {
      type: 'message',
      id: newEntryId(clock, random),
      parent_id: session.state().leaf,
      role: 'assistant',
      content,
      model: { provider: message.provider, id: message.model, api: message.api },
      ...(message.responseId === undefined ? {} : { response_id: message.responseId }),
      usage: usageOf(message),
      stop_reason: stopReason,
    }
    const [record] = await session.append(body)
    for (const event of endEvents(message)) emit({ kind: 'stream', ...event })
    if (record) emit({ kind: 'committed', entry_id: body.id, role: 'assistant', record_seq: record.seq })
  }

  /** The loop runs calls by the ids in the message, so ours go in here, before the first of them starts. */
  function contentOf(message: AssistantMessage, withoutCalls: boolean): ContentBlock[] {
    return message.content.flatMap((block, index): ContentBlock[] => {
      if (block.type === 'text') {
        if (block.text === '') return []
        return [
          {
            type: 'text',
            text: block.text,
            ...(block.textSignature === undefined ? {} : { signature: block.textSignature }),
          },
        ]
      }
      if (block.type === 'thinking') {
        return [
          {
            type: 'thinking',
            text: block.thinking,
            ...(block.thinkingSignature === undefined ? {} : { signature: block.thinkingSignature }),
            ...(block.redacted === undefined ? {} : { redacted: block.redacted }),
          },
        ]
      }
      if (withoutCalls) return []
      const id = callIdAt(index)
      const call: ContentBlock = {
        type: 'tool_call',
        id,
        provider_id: block.id,
        name: block.name,
        input: block.arguments,
        ...(block.argumentsError === undefined ? {} : { input_error: block.argumentsError }),
        ...(block.thoughtSignature === undefined ? {} : { signature: block.thoughtSignature }),
      }
      if (block.argumentsError !== undefined) inputErrors.set(id, block.argumentsError)
      block.id = id
      delete block.argumentsError
      return [call]
    })
  }

  async function listen(event: LoopEvent): Promise<void> {
    switch (event.type) {
      case 'turn_start':
        steps++
        idsByIndex = new Map()
        streamed = false
        attempts = 0
        emit({ kind: 'turn_start', step: steps })
        return
      case 'message_start':
        if (event.message.role !== 'assistant') return
        return emit({ kind: 'stream', ...startEvent(event.message) })
      case 'message_update':
        streamed = true
        for (const out of streamEvents(event.assistantMessageEvent, callIdAt))
          emit({ kind: 'stream', ...out })
        return
      case 'message_end': {
        if (event.message.role !== 'assistant') return
        last = event.message
        if (last.stopReason !== 'error') return committed(last)
        if (streamed) discarded(last.errorMessage ?? 'failed', attempts + 1)
        return
      }
      case 'tool_execution_start': {
        emit({ kind: 'tool_start', id: event.toolCallId, name: event.toolName, input: event.args })
        return
      }
      case 'tool_execution_end':
        return toolEnd(event)
      case 'turn_end':
        if (event.message.role !== 'assistant') return
        emit({ kind: 'turn_end', stop_reason: stopReasonOf(event.message), step: steps })
        return
      case 'agent_start':
      case 'agent_end':
      case 'tool_execution_update':
        return
      default:
        return event satisfies never
    }
  }

  function discarded(reason: string, attempt: number): void {
    attempts = attempt
    streamed = false
    // The calls of a void message are never run, so none of their ids is used again.
    idsByIndex = new Map()
    emit({ kind: 'message_discarded', reason, attempt })
  }

  async function toolEnd(event: Extract<LoopEvent, { type: 'tool_execution_end' }>): Promise<void> {
    const callId = known.get(event.toolCallId)
    if (callId === undefined) return
    const ran = parts.resultOf(callId)
    const result: ToolResult = ran ?? {
      content: [{ type: 'text', text: textOf(event.result) }],
      isError: event.isError,
      outcome: 'interrupted',
      details: { code: 'interrupted' },
    }
    if (!ran) await parts.answered(callId, result)
    emit({
      kind: 'tool_end',
      id: callId,
      name: event.toolName,
      result: [...result.content],
      is_error: result.isError,
      outcome: result.outcome,
      details: { ...result.details },
    })
  }

  return {
    listen,
    discarded,
    last: () => last,
    steps: () => steps,
    callId: id => known.get(id) ?? newCallId(clock, random),
    inputError: id => inputErrors.get(id),
  }
}

function textOf(result: unknown): string {
  if (
    typeof result !== 'object' ||
    result === null ||
    !('content' in result) ||
    !Array.isArray(result.content)
  )
    return ''
  return result.content.map(block => (block.type === 'text' ? block.text : '')).join('')
}
