/** Anthropic Messages, as a client of it speaks and hears it. */
import type { AssistantMessage, AssistantMessageEvent, Usage } from '@earendil-works/pi-ai'
import { sealSignature } from '../provenance.ts'
import { type AnswerEnd, modelName, sse, type Wire, type WireError, wholeArguments } from '../wire.ts'
import { readAnthropic } from './anthropic-read.ts'

export const anthropic: Wire = {
  name: 'anthropic',
  contentType: 'text/event-stream; charset=utf-8',
  heartbeat: named({ type: 'ping' }),
  canWithdraw: false,
  read: readAnthropic,
  errorBody,
  writer(_request, about) {
    const silent = new Set<number>()
    let hasBegun = false
    const head = (message: AssistantMessage) => ({
      id: `msg_${about.id}`,
      type: 'message',
      role: 'assistant',
      model: modelName(message),
    })
    const begin = (partial: AssistantMessage): string => {
      if (hasBegun) return ''
      hasBegun = true
      const message = {
        ...head(partial),
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: usageOf(partial.usage),
      }
      return named({ type: 'message_start', message })
    }
    const said = (event: AssistantMessageEvent): string => {
      if (!('contentIndex' in event)) return ''
      const index = event.contentIndex
      const block = event.partial.content[index]
      const start = (content_block: object) => named({ type: 'content_block_start', index, content_block })
      const delta = (given: object) => named({ type: 'content_block_delta', index, delta: given })
      const stop = () => named({ type: 'content_block_stop', index })
      switch (event.type) {
        case 'text_start':
          return start({ type: 'text', text: '' })
        case 'text_delta':
          return delta({ type: 'text_delta', text: event.delta })
        case 'text_end':
          return stop()
        case 'thinking_start':
          return block?.type === 'thinking' && block.redacted === true
            ? ''
            : start({ type: 'thinking', thinking: '', signature: '' })
        case 'thinking_delta':
          return delta({ type: 'thinking_delta', thinking: event.delta })
        case 'thinking_end':
          if (block?.type !== 'thinking') return stop()
          if (block.redacted === true) return start(thinkingBlock(block, event.partial)) + stop()
          return delta({ type: 'signature_delta', signature: sealed(block, event.partial) }) + stop()
        case 'toolcall_start':
          if (block?.type !== 'toolCall') return ''
          silent.add(index)
          return start({ type: 'tool_use', id: block.id, name: block.name, input: {} })
        case 'toolcall_delta':
          if (event.delta === '') return ''
          silent.delete(index)
          return delta({ type: 'input_json_delta', partial_json: event.delta })
        case 'toolcall_end': {
          const whole = silent.delete(index)
            ? delta({ type: 'input_json_delta', partial_json: wholeArguments(event) })
            : ''
          return whole + stop()
        }
        default:
          return event satisfies never
      }
    }
    return {
      event(event) {
        const sent = said(event)
        return sent === '' || !('partial' in event) ? '' : begin(event.partial) + sent
      },
      end: (message, end) =>
        begin(message) +
        named({
          type: 'message_delta',
          delta: { stop_reason: STOP[end], stop_sequence: null },
          usage: usageOf(message.usage),
        }) +
        named({ type: 'message_stop' }),
      broken: error => named(errorBody(error)),
      whole: (message, end) => ({
        ...head(message),
        content: message.content.map(block => wholeBlock(block, message)),
        stop_reason: STOP[end],
        stop_sequence: null,
        usage: usageOf(message.usage),
      }),
    }
  },
}

const STOP: Readonly<Record<AnswerEnd, string>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  tools: 'tool_use',
  refused: 'refusal',
}

/** Every event says its type twice. */
function named(data: { type: string; [field: string]: unknown }): string {
  return sse(data, data.type)
}

type Thinking = Extract<AssistantMessage['content'][number], { type: 'thinking' }>

function sealed(block: Thinking, message: AssistantMessage): string {
  return sealSignature(message, block.thinkingSignature ?? '', block.redacted)
}

function thinkingBlock(block: Thinking, message: AssistantMessage): object {
  return block.redacted === true
    ? { type: 'redacted_thinking', data: sealed(block, message) }
    : { type: 'thinking', thinking: block.thinking, signature: sealed(block, message) }
}

function wholeBlock(block: AssistantMessage['content'][number], message: AssistantMessage): object {
  if (block.type === 'text') return { type: 'text', text: block.text, citations: null }
  if (block.type === 'thinking') return thinkingBlock(block, message)
  return { type: 'tool_use', id: block.id, name: block.name, input: block.arguments }
}

function usageOf(usage: Usage): object {
  return {
    input_tokens: usage.input,
    output_tokens: usage.output,
    cache_creation_input_tokens: usage.cacheWrite,
    cache_read_input_tokens: usage.cacheRead,
  }
}

function errorBody({ status, code, message }: WireError): { type: string; error: object } {
  const type = code === 'overloaded' ? 'overloaded_error' : (TYPES[status] ?? typeOfOther(status))
  return { type: 'error', error: { type, message } }
}

const TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  504: 'timeout_error',
}

function typeOfOther(status: number): string {
  return status >= 500 ? 'api_error' : 'invalid_request_error'
}
