/** Turns what pi-ai streams into the `StreamEvent`s of the serve protocol. */

import type { RouterNotice } from '@beige/models'
import type { AgentEvent, StopReason, StreamEvent, Usage } from '@beige/protocol'
import type { AssistantMessage, AssistantMessageEvent } from '@earendil-works/pi-ai'

/** `callIdAt` names the call at a place of the message by our id. */
export function streamEvents(
  event: AssistantMessageEvent,
  callIdAt: (index: number) => string,
): StreamEvent[] {
  switch (event.type) {
    case 'text_delta':
      return [{ type: 'text_delta', index: event.contentIndex, text: event.delta }]
    case 'text_end':
      return [
        { type: 'text_final', index: event.contentIndex, text: event.content },
        { type: 'content_block_stop', index: event.contentIndex },
      ]
    case 'thinking_delta':
      return [{ type: 'thinking_delta', index: event.contentIndex, text: event.delta }]
    case 'thinking_end':
      return [{ type: 'content_block_stop', index: event.contentIndex }]
    case 'toolcall_start': {
      const block = event.partial.content[event.contentIndex]
      const name = block?.type === 'toolCall' ? block.name : ''
      return [{ type: 'tool_use_start', index: event.contentIndex, id: callIdAt(event.contentIndex), name }]
    }
    case 'toolcall_delta':
      return [{ type: 'input_json_delta', index: event.contentIndex, partial_json: event.delta }]
    case 'toolcall_end':
      return [
        { type: 'input_json_final', index: event.contentIndex, input: event.toolCall.arguments },
        { type: 'content_block_stop', index: event.contentIndex },
      ]
    case 'start':
    case 'text_start':
    case 'thinking_start':
    case 'done':
    case 'error':
      return []
    default:
      return event satisfies never
  }
}

/** What the router tells beside the stream. */
export function noticeEvent(notice: Exclude<RouterNotice, { type: 'discarded' }>): AgentEvent {
  if (notice.type === 'waiting')
    return { kind: 'waiting', provider: notice.provider, position: notice.position }
  const { to, from, reason } = notice
  return { kind: 'model_switched', model: to, previous: from, cause: 'fallback', reason }
}

export function startEvent(message: AssistantMessage): StreamEvent {
  return { type: 'message_start', model: `${message.provider}/${message.model}` }
}

/** The end of a message as viewers see it. */
export function endEvents(message: AssistantMessage): StreamEvent[] {
  const { cost_usd: _cost, ...tokens } = usageOf(message)
  return [
    { type: 'usage', ...tokens },
    { type: 'message_stop', stop_reason: stopReasonOf(message) },
  ]
}

export function usageOf(message: AssistantMessage): Usage {
  const { usage } = message
  return {
    input_tokens: usage.input,
    output_tokens: usage.output,
    cache_read_tokens: usage.cacheRead,
    cache_write_tokens: usage.cacheWrite,
    ...(usage.reasoning === undefined ? {} : { reasoning_tokens: usage.reasoning }),
    cost_usd: usage.cost.total,
  }
}

export function stopReasonOf(message: AssistantMessage): StopReason {
  if (message.rawStopReason === 'refusal') return 'refusal'
  switch (message.stopReason) {
    case 'stop':
      return message.rawStopReason === 'stop_sequence' ? 'stop_sequence' : 'end_turn'
    case 'toolUse':
      return 'tool_use'
    case 'length':
      return 'max_tokens'
    case 'aborted':
      return 'aborted'
    case 'error':
    case 'pending':
    case 'deferred':
      return 'other'
    default:
      return message.stopReason satisfies never
  }
}
