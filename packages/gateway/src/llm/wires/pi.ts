/** pi's own protocol (`POST /messages`), so that an unmodified `pi` can use the gateway; and its events as JSON. */
import type { AssistantMessage, AssistantMessageEvent } from '@earendil-works/pi-ai'
import { isRecord, type Json, record } from '../json-reader.ts'
import { sealSignature } from '../provenance.ts'
import { modelName, sse, type Wire, type WireError } from '../wire.ts'
import { readContext, readOptions } from './pi-read.ts'

const OPTIONS = ['temperature', 'maxTokens', 'reasoning', 'toolChoice', 'stop', 'sessionId', 'cacheRetention']

export const pi: Wire = {
  name: 'pi',
  contentType: 'text/event-stream; charset=utf-8',
  heartbeat: ': keep-alive\n\n',
  canWithdraw: false,
  read: body => ({
    isStreamed: true,
    ...readContext(record(body.context, 'context'), 'context'),
    ...readOptions(isRecord(body.options) ? body.options : {}, 'options', OPTIONS),
  }),
  errorBody: piError,
  writer(_request, about) {
    let hasBegun = false
    const begin = () => {
      if (hasBegun) return ''
      hasBegun = true
      return sse({ type: 'start' })
    }
    return {
      event(event) {
        const said = piEvent(event)
        return said === null ? '' : begin() + sse(said)
      },
      end: (message, end) =>
        begin() +
        sse(
          end === 'refused'
            ? piFailed(message, message.errorMessage ?? 'refused')
            : piDone(message, about.id),
        ),
      broken: error =>
        begin() + sse({ type: 'error', reason: 'error', usage: NO_USAGE, errorMessage: error.message }),
      whole: (message, _end) => piDone(message, about.id),
    }
  },
}

const NO_USAGE = {
  input: 0,
  output: 0,
  cacheRead: 0,
  cacheWrite: 0,
  totalTokens: 0,
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
}

/** Null for what has no event of its own. */
export function piEvent(event: AssistantMessageEvent): Json | null {
  if (!('contentIndex' in event)) return null
  const { type, contentIndex } = event
  const block = event.partial.content[contentIndex]
  switch (type) {
    case 'text_start':
    case 'thinking_start':
      return { type, contentIndex }
    case 'text_delta':
    case 'thinking_delta':
    case 'toolcall_delta':
      return { type, contentIndex, delta: event.delta }
    case 'text_end':
      return { type, contentIndex, content: event.content }
    case 'thinking_end':
      return {
        type,
        contentIndex,
        content: event.content,
        ...(block?.type !== 'thinking'
          ? {}
          : {
              contentSignature: sealSignature(event.partial, block.thinkingSignature ?? '', block.redacted),
              ...(block.redacted === true ? { redacted: true } : {}),
            }),
      }
    case 'toolcall_start':
      return block?.type === 'toolCall' ? { type, contentIndex, id: block.id, toolName: block.name } : null
    case 'toolcall_end': {
      const { id, name, arguments: given, argumentsError } = event.toolCall
      return {
        type,
        contentIndex,
        toolCall: {
          type: 'toolCall',
          id,
          name,
          arguments: given,
          ...(argumentsError === undefined ? {} : { argumentsError }),
        },
      }
    }
    default:
      return event satisfies never
  }
}

export function piDone(message: AssistantMessage, id: string): Json {
  return {
    type: 'done',
    reason: message.stopReason,
    usage: message.usage,
    responseId: id,
    responseModel: modelName(message),
  }
}

function piFailed(message: AssistantMessage, errorMessage: string): Json {
  return {
    type: 'error',
    reason: 'error',
    usage: message.usage,
    errorMessage,
    responseModel: modelName(message),
  }
}

export function piError({ code, message, retryable, retryAtMs }: WireError): { error: Json } {
  return {
    error: {
      code,
      message,
      retryable,
      ...(retryAtMs === null ? {} : { retry_at: new Date(retryAtMs).toISOString() }),
    },
  }
}
