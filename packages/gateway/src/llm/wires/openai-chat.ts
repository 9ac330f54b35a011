/** OpenAI Chat Completions, as a client of it speaks and hears it. */
import type { AssistantMessage, AssistantMessageEvent, Usage } from '@earendil-works/pi-ai'
import { type AnswerAbout, type AnswerEnd, modelName, sse, type Wire, wholeArguments } from '../wire.ts'
import { readChat } from './openai-chat-read.ts'
import { openAiError } from './openai-error.ts'

export const openAiChat: Wire = {
  name: 'openai-chat',
  contentType: 'text/event-stream; charset=utf-8',
  heartbeat: ': keep-alive\n\n',
  canWithdraw: false,
  read: readChat,
  errorBody: openAiError,
  writer(_request, about) {
    const isUsageAsked = includesUsage(about)
    const toolIndex = new Map<number, number>()
    const silent = new Set<number>()
    let hasBegun = false
    const chunk = (partial: AssistantMessage, delta: object, finish: string | null = null) =>
      sse({
        id: `chatcmpl-${about.id}`,
        object: 'chat.completion.chunk',
        created: Math.floor(about.createdMs / 1000),
        model: modelName(partial),
        choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
        ...(isUsageAsked ? { usage: null } : {}),
      })
    const deltaOf = (event: AssistantMessageEvent): object | null => {
      switch (event.type) {
        case 'text_delta':
          return { content: event.delta }
        case 'thinking_delta':
          return { reasoning_content: event.delta }
        case 'toolcall_start': {
          const block = event.partial.content[event.contentIndex]
          if (block?.type !== 'toolCall') return null
          const index = toolIndex.size
          toolIndex.set(event.contentIndex, index)
          silent.add(event.contentIndex)
          const { id, name } = block
          return { tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] }
        }
        case 'toolcall_delta':
          if (event.delta === '') return null
          silent.delete(event.contentIndex)
          return argumentsDelta(toolIndex.get(event.contentIndex), event.delta)
        case 'toolcall_end':
          return silent.delete(event.contentIndex)
            ? argumentsDelta(toolIndex.get(event.contentIndex), wholeArguments(event))
            : null
        default:
          return null
      }
    }
    const begin = (partial: AssistantMessage) => {
      if (hasBegun) return ''
      hasBegun = true
      return chunk(partial, { role: 'assistant', content: '' })
    }
    return {
      event(event) {
        const delta = deltaOf(event)
        return delta === null || !('partial' in event)
          ? ''
          : begin(event.partial) + chunk(event.partial, delta)
      },
      end(message, end) {
        const usage = !isUsageAsked
          ? ''
          : sse({
              id: `chatcmpl-${about.id}`,
              object: 'chat.completion.chunk',
              created: Math.floor(about.createdMs / 1000),
              model: modelName(message),
              choices: [],
              usage: chatUsage(message.usage),
            })
        return `${begin(message)}${chunk(message, {}, FINISH[end])}${usage}data: [DONE]\n\n`
      },
      // Without `[DONE]`: whoever reads to the end sees that it is not there.
      broken: error => sse(openAiError(error)),
      whole: (message, end) => wholeChat(about, message, end),
    }
  },
}

const FINISH: Readonly<Record<AnswerEnd, string>> = {
  stop: 'stop',
  length: 'length',
  tools: 'tool_calls',
  refused: 'content_filter',
}

function argumentsDelta(index: number | undefined, text: string): object | null {
  return index === undefined ? null : { tool_calls: [{ index, function: { arguments: text } }] }
}

function includesUsage({ body }: AnswerAbout): boolean {
  const options = body.stream_options
  return typeof options === 'object' && options !== null && 'include_usage' in options
    ? options.include_usage === true
    : false
}

function wholeChat(about: AnswerAbout, message: AssistantMessage, end: AnswerEnd): unknown {
  const said = message.content.map(block => (block.type === 'text' ? block.text : '')).join('')
  const thought = message.content.map(block => (block.type === 'thinking' ? block.thinking : '')).join('')
  const calls = message.content.flatMap(block =>
    block.type === 'toolCall'
      ? [
          {
            id: block.id,
            type: 'function',
            function: { name: block.name, arguments: JSON.stringify(block.arguments) },
          },
        ]
      : [],
  )
  return {
    id: `chatcmpl-${about.id}`,
    object: 'chat.completion',
    created: Math.floor(about.createdMs / 1000),
    model: modelName(message),
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: said === '' ? null : said,
          refusal: end === 'refused' ? (message.errorMessage ?? 'refused') : null,
          ...(thought === '' ? {} : { reasoning_content: thought }),
          ...(calls.length === 0 ? {} : { tool_calls: calls }),
        },
        logprobs: null,
        finish_reason: FINISH[end],
      },
    ],
    usage: chatUsage(message.usage),
  }
}

function chatUsage(usage: Usage): object {
  const input = usage.input + usage.cacheRead + usage.cacheWrite
  return {
    prompt_tokens: input,
    completion_tokens: usage.output,
    total_tokens: input + usage.output,
    prompt_tokens_details: { cached_tokens: usage.cacheRead },
    completion_tokens_details: { reasoning_tokens: usage.reasoning ?? 0 },
  }
}
