/** The wire of OpenAI Chat Completions: https://platform.openai.com/docs/api-reference/chat-streaming */
import { isRecord, type JsonRecord, records, text } from './json.ts'
import { chunks, newId, type PreparedTurn, type SeenMessage } from './model-script.ts'
import { validateOpenAiChat } from './validate-openai-chat.ts'
import type { SseEvent, Wire } from './wire.ts'

const FINISH = { end_turn: 'stop', tool_use: 'tool_calls', max_tokens: 'length', refusal: 'content_filter' }

export const openAiChatWire: Wire = {
  name: 'openai-chat',
  serves: path => path === '/v1/chat/completions',
  keyOf: bearer,
  validate: validateOpenAiChat,
  see(body) {
    const request: JsonRecord = isRecord(body) ? body : {}
    const messages = records(request.messages)
    return {
      model: text(request.model),
      system: messages.filter(isInstruction).map(contentText).join('\n'),
      messages: messages.filter(message => !isInstruction(message)).map(seeMessage),
      tools: records(request.tools).map(tool => (isRecord(tool.function) ? text(tool.function.name) : '')),
    }
  },
  events,
  errorBody: openAiError,
  errorEvent: (type, message) => ({
    event: null,
    data: JSON.stringify({ error: { message, type, param: null, code: type } }),
  }),
}

export function bearer(headers: Readonly<Record<string, string>>): string | null {
  return headers.authorization?.replace(/^Bearer /, '') ?? null
}
export function openAiError({ type, message }: { type: string; message: string }): string {
  return JSON.stringify({ error: { message, type, param: null, code: type } })
}

function isInstruction(message: JsonRecord): boolean {
  return message.role === 'system' || message.role === 'developer'
}
function contentText(message: JsonRecord): string {
  if (typeof message.content === 'string') return message.content
  return records(message.content)
    .map(part => text(part.text))
    .filter(part => part !== '')
    .join('\n')
}

function seeMessage(message: JsonRecord): SeenMessage {
  if (message.role === 'tool')
    return {
      role: 'user',
      text: '',
      calls: [],
      results: [{ callId: text(message.tool_call_id), text: contentText(message), isError: false }],
    }
  return {
    role: message.role === 'assistant' ? 'assistant' : 'user',
    text: contentText(message),
    calls: records(message.tool_calls).map(call => {
      const fn = isRecord(call.function) ? call.function : {}
      return { id: text(call.id), name: text(fn.name), input: JSON.parse(text(fn.arguments)) }
    }),
    results: [],
  }
}

function* events(turn: PreparedTurn, model: string, body: unknown): Generator<SseEvent> {
  const id = `chatcmpl-${newId()}`
  const { usage } = turn
  const chunk = (fields: object): SseEvent => ({
    event: null,
    data: JSON.stringify({ id, object: 'chat.completion.chunk', created: 1_700_000_000, model, ...fields }),
  })
  const delta = (part: object): SseEvent =>
    chunk({ choices: [{ index: 0, delta: part, finish_reason: null }] })

  yield delta({ role: 'assistant', content: '' })
  for (const piece of chunks(turn.thinking, turn.chunkChars)) yield delta({ reasoning_content: piece })
  for (const piece of chunks(turn.text, turn.chunkChars)) yield delta({ content: piece })
  for (const [index, call] of turn.calls.entries()) {
    const head = {
      index,
      id: `call_${call.id}`,
      type: 'function',
      function: { name: call.name, arguments: '' },
    }
    yield delta({ tool_calls: [head] })
    for (const piece of chunks(call.arguments, turn.chunkChars))
      yield delta({ tool_calls: [{ index, function: { arguments: piece } }] })
  }
  yield chunk({ choices: [{ index: 0, delta: {}, finish_reason: FINISH[turn.stop] }] })
  const options = isRecord(body) ? body.stream_options : undefined
  if (isRecord(options) && options.include_usage === true) {
    const prompt = usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens
    yield chunk({
      choices: [],
      usage: {
        prompt_tokens: prompt,
        completion_tokens: usage.outputTokens,
        total_tokens: prompt + usage.outputTokens,
        prompt_tokens_details: { cached_tokens: usage.cacheReadTokens },
        completion_tokens_details: { reasoning_tokens: usage.reasoningTokens },
      },
    })
  }
  yield { event: null, data: '[DONE]' }
}
