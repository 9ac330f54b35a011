/** The wire of Anthropic Messages: https://docs.anthropic.com/en/api/messages-streaming */
import { isRecord, type JsonRecord, records, text } from './json.ts'
import { chunks, newId, type PreparedTurn, type SeenMessage } from './model-script.ts'
import { thinkingSignature, validateAnthropic } from './validate-anthropic.ts'
import type { SseEvent, Wire } from './wire.ts'

export const anthropicWire: Wire = {
  name: 'anthropic',
  serves: path => path === '/v1/messages',
  keyOf: headers => headers['x-api-key'] ?? headers.authorization?.replace(/^Bearer /, '') ?? null,
  validate: validateAnthropic,
  see(body) {
    const request: JsonRecord = isRecord(body) ? body : {}
    return {
      model: text(request.model),
      system: contentText(request.system),
      messages: records(request.messages)
        .filter(message => message.role !== 'system')
        .map(seeMessage),
      tools: records(request.tools).map(tool => text(tool.name)),
    }
  },
  events,
  errorBody: ({ type, message }) =>
    JSON.stringify({ type: 'error', error: { type, message }, request_id: 'req_scripted' }),
  errorEvent: (type, message) => sse('error', { type: 'error', error: { type, message } }),
}

function contentText(content: unknown): string {
  if (typeof content === 'string') return content
  return records(content)
    .filter(block => block.type === 'text')
    .map(block => text(block.text))
    .join('\n')
}

function seeMessage(message: JsonRecord): SeenMessage {
  const blocks = records(message.content)
  return {
    role: message.role === 'assistant' ? 'assistant' : 'user',
    text: contentText(message.content),
    calls: blocks
      .filter(block => block.type === 'tool_use')
      .map(block => ({ id: text(block.id), name: text(block.name), input: block.input })),
    results: blocks
      .filter(block => block.type === 'tool_result')
      .map(block => ({
        callId: text(block.tool_use_id),
        text: contentText(block.content),
        isError: block.is_error === true,
      })),
  }
}

function sse(type: string, data: object): SseEvent {
  return { event: type, data: JSON.stringify({ type, ...data }) }
}

function* events(turn: PreparedTurn, model: string): Generator<SseEvent> {
  const { usage } = turn
  yield sse('message_start', {
    message: {
      id: `msg_${newId()}`,
      type: 'message',
      role: 'assistant',
      model,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: {
        input_tokens: usage.inputTokens,
        cache_creation_input_tokens: usage.cacheWriteTokens,
        cache_read_input_tokens: usage.cacheReadTokens,
        output_tokens: 1,
      },
    },
  })
  yield sse('ping', {})
  let index = 0
  const block = function* (start: object, deltas: readonly object[]): Generator<SseEvent> {
    yield sse('content_block_start', { index, content_block: start })
    for (const delta of deltas) yield sse('content_block_delta', { index, delta })
    yield sse('content_block_stop', { index })
    index++
  }
  if (turn.thinking !== '')
    yield* block({ type: 'thinking', thinking: '', signature: '' }, [
      ...chunks(turn.thinking, turn.chunkChars).map(thinking => ({ type: 'thinking_delta', thinking })),
      { type: 'signature_delta', signature: thinkingSignature(turn.thinking) },
    ])
  if (turn.text !== '')
    yield* block(
      { type: 'text', text: '' },
      chunks(turn.text, turn.chunkChars).map(piece => ({ type: 'text_delta', text: piece })),
    )
  for (const call of turn.calls)
    yield* block({ type: 'tool_use', id: `toolu_${call.id}`, name: call.name, input: {} }, [
      { type: 'input_json_delta', partial_json: '' },
      ...chunks(call.arguments, turn.chunkChars).map(partial_json => ({
        type: 'input_json_delta',
        partial_json,
      })),
    ])
  yield sse('message_delta', {
    delta: { stop_reason: turn.stop, stop_sequence: null },
    usage: { output_tokens: usage.outputTokens },
  })
  yield sse('message_stop', {})
}
