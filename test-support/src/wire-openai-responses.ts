/** The wire of OpenAI Responses: https://platform.openai.com/docs/api-reference/responses-streaming */
import { isRecord, type JsonRecord, records, text } from './json.ts'
import { chunks, newId, type PreparedTurn, type SeenMessage } from './model-script.ts'
import { validateOpenAiResponses } from './validate-openai-responses.ts'
import type { SseEvent, Wire } from './wire.ts'
import { bearer, openAiError } from './wire-openai-chat.ts'

export const openAiResponsesWire: Wire = {
  name: 'openai-responses',
  serves: path => path === '/v1/responses' || path.endsWith('/codex/responses'),
  keyOf: bearer,
  validate: validateOpenAiResponses,
  see(body) {
    const request: JsonRecord = isRecord(body) ? body : {}
    if (typeof request.input === 'string')
      return {
        model: text(request.model),
        system: text(request.instructions),
        messages: [{ role: 'user', text: request.input, calls: [], results: [] }],
        tools: [],
      }
    const items = records(request.input)
    return {
      model: text(request.model),
      system: [text(request.instructions), ...items.filter(isInstruction).map(contentText)].join('\n').trim(),
      messages: seeItems(items.filter(item => !isInstruction(item))),
      tools: [request, ...items].flatMap(place => records(place.tools).map(tool => text(tool.name))),
    }
  },
  events,
  errorBody: openAiError,
  errorEvent: (type, message) => ({
    event: 'response.failed',
    data: JSON.stringify({
      type: 'response.failed',
      response: { id: `resp_${newId()}`, status: 'failed', error: { code: type, message } },
    }),
  }),
}

function isInstruction(item: JsonRecord): boolean {
  return item.role === 'system' || item.role === 'developer'
}
function contentText(item: JsonRecord): string {
  if (typeof item.content === 'string') return item.content
  return joined(item.content)
}
function joined(parts: unknown): string {
  return records(parts)
    .map(part => text(part.text))
    .filter(part => part !== '')
    .join('\n')
}

/** Items of one answer (reasoning, text, calls) become one message of the model. */
function seeItems(items: readonly JsonRecord[]): SeenMessage[] {
  const out: SeenMessage[] = []
  const addToAnswer = (said: string, calls: SeenMessage['calls']): void => {
    const last = out.at(-1)
    if (last?.role === 'assistant')
      out[out.length - 1] = { ...last, text: last.text + said, calls: [...last.calls, ...calls] }
    else out.push({ role: 'assistant', text: said, calls, results: [] })
  }
  for (const item of items) {
    if (item.type === 'function_call_output') {
      const result = typeof item.output === 'string' ? item.output : joined(item.output)
      out.push({
        role: 'user',
        text: '',
        calls: [],
        results: [{ callId: text(item.call_id), text: result, isError: false }],
      })
    } else if (item.type === 'function_call')
      addToAnswer('', [
        { id: text(item.call_id), name: text(item.name), input: JSON.parse(text(item.arguments)) },
      ])
    else if (item.role === 'assistant') addToAnswer(contentText(item), [])
    else if (item.role === 'user') out.push({ role: 'user', text: contentText(item), calls: [], results: [] })
  }
  return out
}

function* events(turn: PreparedTurn, model: string): Generator<SseEvent> {
  const id = `resp_${newId()}`
  const output: object[] = []
  let sequence = 0
  const sse = (type: string, fields: object): SseEvent => ({
    event: type,
    data: JSON.stringify({ type, sequence_number: sequence++, ...fields }),
  })
  const response = (fields: object): object => ({
    response: {
      id,
      object: 'response',
      created_at: 1_700_000_000,
      model,
      output: [],
      usage: null,
      ...fields,
    },
  })
  yield sse('response.created', response({ status: 'in_progress' }))
  yield sse('response.in_progress', response({ status: 'in_progress' }))

  if (turn.thinking !== '') {
    const item_id = `rs_${newId()}`
    const at = { item_id, output_index: output.length, summary_index: 0 }
    const item = { id: item_id, type: 'reasoning', summary: [] }
    yield sse('response.output_item.added', { output_index: output.length, item })
    yield sse('response.reasoning_summary_part.added', { ...at, part: { type: 'summary_text', text: '' } })
    for (const delta of chunks(turn.thinking, turn.chunkChars))
      yield sse('response.reasoning_summary_text.delta', { ...at, delta })
    const summary = [{ type: 'summary_text', text: turn.thinking }]
    const done = { ...item, summary, encrypted_content: `enc_${item_id}` }
    yield sse('response.output_item.done', { output_index: output.length, item: done })
    output.push(done)
  }
  if (turn.text !== '') {
    const item_id = `msg_${newId()}`
    const at = { item_id, output_index: output.length, content_index: 0 }
    const item = { id: item_id, type: 'message', role: 'assistant', status: 'in_progress', content: [] }
    yield sse('response.output_item.added', { output_index: output.length, item })
    yield sse('response.content_part.added', {
      ...at,
      part: { type: 'output_text', text: '', annotations: [] },
    })
    for (const delta of chunks(turn.text, turn.chunkChars))
      yield sse('response.output_text.delta', { ...at, delta })
    yield sse('response.output_text.done', { ...at, text: turn.text })
    const part = { type: 'output_text', text: turn.text, annotations: [] }
    yield sse('response.content_part.done', { ...at, part })
    const done = { ...item, status: 'completed', content: [part] }
    yield sse('response.output_item.done', { output_index: output.length, item: done })
    output.push(done)
  }
  for (const call of turn.calls) {
    const item_id = `fc_${newId()}`
    const at = { item_id, output_index: output.length }
    const item = {
      id: item_id,
      type: 'function_call',
      call_id: `call_${call.id}`,
      name: call.name,
      arguments: '',
    }
    yield sse('response.output_item.added', { output_index: output.length, item })
    for (const delta of chunks(call.arguments, turn.chunkChars))
      yield sse('response.function_call_arguments.delta', { ...at, delta })
    yield sse('response.function_call_arguments.done', { ...at, arguments: call.arguments })
    const done = { ...item, arguments: call.arguments, status: 'completed' }
    yield sse('response.output_item.done', { output_index: output.length, item: done })
    output.push(done)
  }
  const usage = usageOf(turn)
  if (turn.stop === 'max_tokens' || turn.stop === 'refusal') {
    const reason = turn.stop === 'max_tokens' ? 'max_output_tokens' : 'content_filter'
    yield sse(
      'response.incomplete',
      response({ status: 'incomplete', incomplete_details: { reason }, output, usage }),
    )
  } else yield sse('response.completed', response({ status: 'completed', output, usage }))
}

function usageOf({ usage }: PreparedTurn): object {
  const input = usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens
  return {
    input_tokens: input,
    input_tokens_details: {
      cached_tokens: usage.cacheReadTokens,
      cache_write_tokens: usage.cacheWriteTokens,
    },
    output_tokens: usage.outputTokens,
    output_tokens_details: { reasoning_tokens: usage.reasoningTokens },
    total_tokens: input + usage.outputTokens,
  }
}
