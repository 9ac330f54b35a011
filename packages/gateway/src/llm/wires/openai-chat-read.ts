/** Reads a request of OpenAI Chat Completions. What would change the answer and can not be done is refused by name. */
import type { AssistantMessage, Message, ToolResultMessage, UserMessage } from '@earendil-works/pi-ai'
import {
  at,
  bad,
  count,
  flag,
  type Json,
  list,
  number,
  optional,
  record,
  text,
  texts,
} from '../json-reader.ts'
import {
  assistantMessage,
  type Extras,
  type LlmRequest,
  reasoningLevel,
  type ToolChoice,
} from '../llm-request.ts'
import { imageOfDataUrl } from '../wire.ts'
import { readArguments, readFunctionTool } from './tools-read.ts'

const REFUSED = ['functions', 'function_call', 'audio', 'prediction', 'web_search_options', 'logprobs']

export function readChat(body: Json): LlmRequest {
  for (const name of REFUSED)
    if (body[name] !== undefined && body[name] !== null && body[name] !== false)
      throw bad(name, 'is not offered here')
  if ((optional(body, 'n', '', count) ?? 1) !== 1) throw bad('n', 'only one answer a request is offered here')
  for (const modality of optional(body, 'modalities', '', list) ?? [])
    if (modality !== 'text') throw bad('modalities', 'only text is offered here')

  const names = new Map<string, string>()
  const messages = list(body.messages, 'messages').map((one, index) =>
    readMessage(record(one, at('messages', index)), at('messages', index), names),
  )
  if (messages.length === 0) throw bad('messages', 'must not be empty')
  // What leads is the prompt, however many messages it is in.
  const first = messages.findIndex(message => message.role !== 'system')
  const leading = first < 0 ? messages : messages.slice(0, first)
  return {
    isStreamed: optional(body, 'stream', '', flag) ?? false,
    systemPrompt: leading
      .map(message => (typeof message.content === 'string' ? message.content : ''))
      .join('\n\n'),
    messages: messages.slice(leading.length),
    tools: (optional(body, 'tools', '', list) ?? []).map((tool, index) => {
      const place = at('tools', index)
      const found = record(tool, place)
      if (found.type !== 'function')
        throw bad(place, `a tool of type "${String(found.type)}" is not offered here`)
      return readFunctionTool(record(found.function, at(place, 'function')), at(place, 'function'))
    }),
    maxTokens: optional(body, 'max_completion_tokens', '', count) ?? optional(body, 'max_tokens', '', count),
    temperature: optional(body, 'temperature', '', number),
    reasoning: reasoningLevel(optional(body, 'reasoning_effort', '', text) ?? ''),
    extras: readExtras(body),
    conversation: optional(body, 'prompt_cache_key', '', text) ?? null,
  }
}

function readExtras(body: Json): Extras {
  const stop = body.stop
  return {
    toolChoice: optional(body, 'tool_choice', '', readChoice),
    stop: typeof stop === 'string' ? [stop] : optional(body, 'stop', '', texts),
    topP: optional(body, 'top_p', '', number),
    isParallel: optional(body, 'parallel_tool_calls', '', flag),
    format: optional(body, 'response_format', '', (value, place) => {
      const format = record(value, place)
      if (format.type === 'text') return undefined
      if (format.type === 'json_object') return { type: 'json' as const }
      const schema = record(format.json_schema, at(place, 'json_schema'))
      return {
        type: 'schema' as const,
        name: optional(schema, 'name', at(place, 'json_schema'), text) ?? 'answer',
        schema: record(schema.schema, at(place, 'json_schema.schema')),
        strict: schema.strict === true,
      }
    }),
  }
}

function readChoice(value: unknown, place: string): ToolChoice {
  if (value === 'auto' || value === 'none' || value === 'required') return value
  const choice = record(value, place)
  return { name: text(record(choice.function, at(place, 'function')).name, at(place, 'function.name')) }
}

/** `names`: of the calls so far, by id; a result says the id alone. */
function readMessage(message: Json, place: string, names: Map<string, string>): Message {
  switch (message.role) {
    case 'system':
    case 'developer':
      return { role: 'system', content: textOf(message.content, at(place, 'content')), timestamp: 0 }
    case 'user':
      return readUser(message, place)
    case 'assistant':
      return readAssistant(message, place, names)
    case 'tool':
      return readResult(message, place, names)
    default:
      throw bad(at(place, 'role'), 'must be one of system, developer, user, assistant, tool')
  }
}

function readUser(message: Json, place: string): UserMessage {
  if (typeof message.content === 'string') return { role: 'user', content: message.content, timestamp: 0 }
  const content = list(message.content, at(place, 'content')).map((one, index) => {
    const where = at(at(place, 'content'), index)
    const part = record(one, where)
    if (part.type === 'text') return { type: 'text' as const, text: text(part.text, at(where, 'text')) }
    if (part.type !== 'image_url')
      throw bad(where, `content of type "${String(part.type)}" is not offered here`)
    const url = text(record(part.image_url, at(where, 'image_url')).url, at(where, 'image_url.url'))
    const image = imageOfDataUrl(url)
    if (image === null)
      throw bad(where, 'an image must be in the request (data:image/…;base64,…): nothing is fetched')
    return image
  })
  return { role: 'user', content, timestamp: 0 }
}

function readAssistant(message: Json, place: string, names: Map<string, string>): AssistantMessage {
  const said =
    message.content === null || message.content === undefined
      ? ''
      : textOf(message.content, at(place, 'content'))
  const calls = (optional(message, 'tool_calls', place, list) ?? []).map((one, index) => {
    const where = at(at(place, 'tool_calls'), index)
    const call = record(one, where)
    const asked = record(call.function, at(where, 'function'))
    const id = text(call.id, at(where, 'id'))
    const name = text(asked.name, at(where, 'function.name'))
    names.set(id, name)
    return {
      type: 'toolCall' as const,
      id,
      name,
      arguments: readArguments(asked.arguments, at(where, 'function.arguments')),
    }
  })
  return assistantMessage([...(said === '' ? [] : [{ type: 'text' as const, text: said }]), ...calls])
}

function readResult(message: Json, place: string, names: Map<string, string>): ToolResultMessage {
  const id = text(message.tool_call_id, at(place, 'tool_call_id'))
  return {
    role: 'toolResult',
    toolCallId: id,
    toolName: names.get(id) ?? 'unknown',
    content: [{ type: 'text', text: textOf(message.content, at(place, 'content')) }],
    isError: false,
    timestamp: 0,
  }
}

function textOf(content: unknown, place: string): string {
  if (typeof content === 'string') return content
  return list(content, place)
    .map((one, index) => {
      const part = record(one, at(place, index))
      const said = part.type === 'refusal' ? part.refusal : part.text
      return text(said, at(at(place, index), 'text'))
    })
    .join('\n')
}
