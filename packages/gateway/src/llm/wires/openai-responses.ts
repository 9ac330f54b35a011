/** OpenAI Responses, as a client of it speaks and hears it. */
import type { AssistantMessage, AssistantMessageEvent, ToolCall, Usage } from '@earendil-works/pi-ai'
import type { Json } from '../json-reader.ts'
import { sealSignature } from '../provenance.ts'
import { type AnswerAbout, type AnswerEnd, modelName, type Wire, type WireError } from '../wire.ts'
import { openAiError } from './openai-error.ts'
import { FREE_INPUT, freeTools, readResponses } from './openai-responses-read.ts'

type ContentEvent = Extract<AssistantMessageEvent, { contentIndex: number }>

export const openAiResponses: Wire = {
  name: 'openai-responses',
  contentType: 'text/event-stream; charset=utf-8',
  heartbeat: ': keep-alive\n\n',
  canWithdraw: false,
  read: readResponses,
  errorBody: openAiError,
  writer(_request, about) {
    const free = freeTools(about.body)
    let sequence = 0
    let hasBegun = false
    const send = (type: string, fields: object): string =>
      `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: sequence++, ...fields })}\n\n`
    const begin = (partial: AssistantMessage): string => {
      if (hasBegun) return ''
      hasBegun = true
      const response = responseOf(about, partial, { status: 'in_progress', output: [], usage: null })
      return send('response.created', { response }) + send('response.in_progress', { response })
    }
    const said = (event: ContentEvent): string => {
      const index = event.contentIndex
      const block = event.partial.content[index]
      const item_id = itemId(about, index)
      const item = { item_id, output_index: index }
      const textAt = { ...item, content_index: 0 }
      const summaryAt = { ...item, summary_index: 0 }
      const added = (fields: object) =>
        send('response.output_item.added', { output_index: index, item: { id: item_id, ...fields } })
      const done = () =>
        block === undefined
          ? ''
          : send('response.output_item.done', {
              output_index: index,
              item: itemOf(about, event.partial, index, free),
            })
      switch (event.type) {
        case 'text_start':
          return (
            added({ type: 'message', role: 'assistant', status: 'in_progress', content: [] }) +
            send('response.content_part.added', { ...textAt, part: textPart('') })
          )
        case 'text_delta':
          return send('response.output_text.delta', { ...textAt, delta: event.delta, logprobs: [] })
        case 'text_end':
          return (
            send('response.output_text.done', { ...textAt, text: event.content, logprobs: [] }) +
            send('response.content_part.done', { ...textAt, part: textPart(event.content) }) +
            done()
          )
        case 'thinking_start':
          return (
            added({ type: 'reasoning', summary: [] }) +
            send('response.reasoning_summary_part.added', { ...summaryAt, part: summaryPart('') })
          )
        case 'thinking_delta':
          return send('response.reasoning_summary_text.delta', { ...summaryAt, delta: event.delta })
        case 'thinking_end':
          return (
            send('response.reasoning_summary_text.done', { ...summaryAt, text: event.content }) +
            send('response.reasoning_summary_part.done', { ...summaryAt, part: summaryPart(event.content) }) +
            done()
          )
        case 'toolcall_start':
          if (block?.type !== 'toolCall') return ''
          return added(callOf(block, free, 'in_progress', true))
        case 'toolcall_delta':
          if (event.delta === '' || block?.type !== 'toolCall' || free.has(block.name)) return ''
          return send('response.function_call_arguments.delta', { ...item, delta: event.delta })
        case 'toolcall_end': {
          const { toolCall } = event
          if (free.has(toolCall.name)) {
            const input = freeInput(toolCall)
            return (
              send('response.custom_tool_call_input.delta', { ...item, delta: input }) +
              send('response.custom_tool_call_input.done', { ...item, input }) +
              done()
            )
          }
          const written = JSON.stringify(toolCall.arguments)
          return (
            send('response.function_call_arguments.done', {
              ...item,
              name: toolCall.name,
              arguments: written,
            }) + done()
          )
        }
        default:
          return event satisfies never
      }
    }
    return {
      event: event => ('contentIndex' in event ? begin(event.partial) + said(event) : ''),
      end(message, end) {
        const response = wholeResponse(about, message, end, free)
        const type = end === 'stop' || end === 'tools' ? 'response.completed' : 'response.incomplete'
        return begin(message) + send(type, { response })
      },
      broken: error => send('response.failed', { response: failedResponse(about, error) }),
      whole: (message, end) => wholeResponse(about, message, end, free),
    }
  },
}

function responseOf(about: AnswerAbout, message: AssistantMessage, fields: object): Json {
  const { body } = about
  return {
    id: `resp_${about.id}`,
    object: 'response',
    created_at: Math.floor(about.createdMs / 1000),
    model: modelName(message),
    error: null,
    incomplete_details: null,
    instructions: body.instructions ?? null,
    metadata: body.metadata ?? {},
    parallel_tool_calls: body.parallel_tool_calls ?? true,
    temperature: body.temperature ?? null,
    tool_choice: body.tool_choice ?? 'auto',
    tools: body.tools ?? [],
    top_p: body.top_p ?? null,
    max_output_tokens: body.max_output_tokens ?? null,
    previous_response_id: null,
    store: false,
    ...fields,
  }
}

function wholeResponse(
  about: AnswerAbout,
  message: AssistantMessage,
  end: AnswerEnd,
  free: ReadonlySet<string>,
): Json {
  const isWhole = end === 'stop' || end === 'tools'
  return responseOf(about, message, {
    status: isWhole ? 'completed' : 'incomplete',
    incomplete_details: isWhole
      ? null
      : { reason: end === 'length' ? 'max_output_tokens' : 'content_filter' },
    output: message.content.map((_, index) => itemOf(about, message, index, free)),
    usage: responsesUsage(message.usage),
  })
}

function failedResponse(about: AnswerAbout, error: WireError): Json {
  return {
    id: `resp_${about.id}`,
    object: 'response',
    created_at: Math.floor(about.createdMs / 1000),
    status: 'failed',
    error: { code: openAiError(error).error.code, message: error.message },
    output: [],
  }
}

function itemId(about: AnswerAbout, index: number): string {
  return `item_${about.id}_${index}`
}

function itemOf(
  about: AnswerAbout,
  message: AssistantMessage,
  index: number,
  free: ReadonlySet<string>,
): Json {
  const id = itemId(about, index)
  const block = message.content[index]
  if (block?.type === 'toolCall') return { id, ...callOf(block, free, 'completed', false) }
  if (block?.type === 'thinking')
    return {
      id,
      type: 'reasoning',
      summary: block.thinking === '' ? [] : [summaryPart(block.thinking)],
      encrypted_content: sealSignature(message, block.thinkingSignature ?? '', block.redacted),
    }
  return {
    id,
    type: 'message',
    role: 'assistant',
    status: 'completed',
    content: [textPart(block?.text ?? '')],
  }
}

function callOf(call: ToolCall, free: ReadonlySet<string>, status: string, isEmpty: boolean): Json {
  return free.has(call.name)
    ? {
        type: 'custom_tool_call',
        call_id: call.id,
        name: call.name,
        status,
        input: isEmpty ? '' : freeInput(call),
      }
    : {
        type: 'function_call',
        call_id: call.id,
        name: call.name,
        status,
        arguments: isEmpty ? '' : JSON.stringify(call.arguments),
      }
}

function freeInput(call: ToolCall): string {
  const input = call.arguments[FREE_INPUT]
  return typeof input === 'string' ? input : JSON.stringify(call.arguments)
}

function textPart(text: string): Json {
  return { type: 'output_text', text, annotations: [], logprobs: [] }
}

function summaryPart(text: string): Json {
  return { type: 'summary_text', text }
}

function responsesUsage(usage: Usage): Json {
  const input = usage.input + usage.cacheRead + usage.cacheWrite
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: usage.cacheRead },
    output_tokens: usage.output,
    output_tokens_details: { reasoning_tokens: usage.reasoning ?? 0 },
    total_tokens: input + usage.output,
  }
}
