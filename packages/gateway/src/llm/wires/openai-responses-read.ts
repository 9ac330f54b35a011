/** Reads a request of OpenAI Responses. Nothing is stored here, so what refers to something stored is refused by name. */
import type { AssistantMessage, Message, Tool } from '@earendil-works/pi-ai'
import { at, bad, count, flag, type Json, list, number, optional, record, text } from '../json-reader.ts'
import {
  type AnswerFormat,
  assistantMessage,
  type LlmRequest,
  reasoningLevel,
  type ToolChoice,
} from '../llm-request.ts'
import { imageOfDataUrl } from '../wire.ts'
import { readArguments, readFunctionTool } from './tools-read.ts'

const REFUSED = ['previous_response_id', 'conversation', 'prompt', 'background']
/** Of tools that take a text; to the model they are functions with this one argument. */
export const FREE_INPUT = 'input'
const FREE_PARAMETERS = {
  type: 'object',
  properties: { [FREE_INPUT]: { type: 'string' } },
  required: [FREE_INPUT],
  additionalProperties: false,
}

export function readResponses(body: Json): LlmRequest {
  for (const name of REFUSED)
    if (body[name] !== undefined && body[name] !== null && body[name] !== false)
      throw bad(name, 'is not offered here: nothing is stored, send the whole conversation')
  const given =
    typeof body.input === 'string' ? [{ role: 'user', content: body.input }] : list(body.input, 'input')
  const { messages, prompt } = readItems(given)
  if (messages.length === 0) throw bad('input', 'must not be empty')
  const reasoning = optional(body, 'reasoning', '', record)
  const instructions = optional(body, 'instructions', '', text)
  return {
    isStreamed: optional(body, 'stream', '', flag) ?? false,
    systemPrompt: [instructions, ...prompt].filter(part => part !== undefined && part !== '').join('\n\n'),
    messages,
    tools: (optional(body, 'tools', '', list) ?? []).flatMap((tool, index) =>
      readTool(tool, at('tools', index)),
    ),
    maxTokens: optional(body, 'max_output_tokens', '', count),
    temperature: optional(body, 'temperature', '', number),
    reasoning: reasoningLevel(typeof reasoning?.effort === 'string' ? reasoning.effort : ''),
    extras: {
      toolChoice: optional(body, 'tool_choice', '', readChoice),
      topP: optional(body, 'top_p', '', number),
      isParallel: optional(body, 'parallel_tool_calls', '', flag),
      format: optional(body, 'text', '', readFormat),
    },
    conversation: optional(body, 'prompt_cache_key', '', text) ?? null,
  }
}

/** Names of tools that take a text and not an object. */
export function freeTools(body: Json): ReadonlySet<string> {
  const tools = Array.isArray(body.tools) ? body.tools : []
  return new Set(tools.flatMap(tool => (isFree(tool) && typeof tool.name === 'string' ? [tool.name] : [])))
}

function isFree(tool: unknown): tool is Json {
  return typeof tool === 'object' && tool !== null && 'type' in tool && tool.type === 'custom'
}

function readTool(value: unknown, place: string): Tool[] {
  const tool = record(value, place)
  if (tool.type === 'function') return [readFunctionTool(tool, place)]
  if (tool.type === 'custom') {
    const format = optional(tool, 'format', place, record)
    const grammar =
      typeof format?.definition === 'string' ? `\n\nThe input's grammar:\n${format.definition}` : ''
    return [
      {
        name: text(tool.name, at(place, 'name')),
        description: (optional(tool, 'description', place, text) ?? '') + grammar,
        parameters: FREE_PARAMETERS,
      },
    ]
  }
  // What a vendor would run itself is left out: the model is not told of it, as where the vendor does not have it.
  if (typeof tool.type === 'string') return []
  throw bad(at(place, 'type'), 'must be a string')
}

function readChoice(value: unknown, place: string): ToolChoice | undefined {
  if (value === 'auto' || value === 'none' || value === 'required') return value
  const choice = record(value, place)
  if (choice.type !== 'function' && choice.type !== 'custom') return undefined
  return { name: text(choice.name, at(place, 'name')) }
}

function readFormat(value: unknown, place: string): AnswerFormat | undefined {
  const format = optional(record(value, place), 'format', place, record)
  if (format === undefined || format.type === 'text') return undefined
  if (format.type === 'json_object') return { type: 'json' }
  return {
    type: 'schema',
    name: text(format.name, at(place, 'format.name')),
    schema: record(format.schema, at(place, 'format.schema')),
    strict: format.strict === true,
  }
}

/** Items of one answer (reasoning, words, calls) become one message. What comes before anybody spoke is the prompt. */
function readItems(items: readonly unknown[]): { messages: Message[]; prompt: string[] } {
  const messages: Message[] = []
  const prompt: string[] = []
  const names = new Map<string, string>()
  let answer: AssistantMessage['content'] = []
  const flush = () => {
    if (answer.length > 0) messages.push(assistantMessage(answer))
    answer = []
  }
  for (const [index, one] of items.entries()) {
    const place = at('input', index)
    const item = record(one, place)
    const type = item.type ?? 'message'
    switch (type) {
      case 'reasoning': {
        const signature = optional(item, 'encrypted_content', place, text)
        if (signature !== undefined)
          answer.push({ type: 'thinking', thinking: summaryOf(item), thinkingSignature: signature })
        break
      }
      case 'function_call':
      case 'custom_tool_call': {
        const id = text(item.call_id, at(place, 'call_id'))
        const name = text(item.name, at(place, 'name'))
        names.set(id, name)
        const given =
          type === 'function_call'
            ? readArguments(item.arguments, at(place, 'arguments'))
            : { [FREE_INPUT]: text(item.input, at(place, 'input')) }
        answer.push({ type: 'toolCall', id, name, arguments: given })
        break
      }
      case 'function_call_output':
      case 'custom_tool_call_output': {
        flush()
        const id = text(item.call_id, at(place, 'call_id'))
        messages.push({
          role: 'toolResult',
          toolCallId: id,
          toolName: names.get(id) ?? 'unknown',
          content: partsOf(item.output, at(place, 'output')),
          isError: false,
          timestamp: 0,
        })
        break
      }
      case 'message': {
        const content = partsOf(item.content, at(place, 'content'))
        const said = content.map(part => (part.type === 'text' ? part.text : '')).join('\n')
        if (item.role === 'assistant') {
          answer.push({ type: 'text', text: said })
          break
        }
        flush()
        if (item.role === 'user') messages.push({ role: 'user', content, timestamp: 0 })
        else if (item.role !== 'system' && item.role !== 'developer')
          throw bad(at(place, 'role'), 'must be one of system, developer, user, assistant')
        else if (messages.length === 0) prompt.push(said)
        else messages.push({ role: 'system', content: said, timestamp: 0 })
        break
      }
      default:
        throw bad(place, `an item of type "${String(type)}" is not offered here`)
    }
  }
  flush()
  return { messages, prompt }
}

function summaryOf(item: Json): string {
  if (!Array.isArray(item.summary)) return ''
  return item.summary.map(part => (typeof part?.text === 'string' ? part.text : '')).join('\n\n')
}

function partsOf(content: unknown, place: string) {
  if (typeof content === 'string') return [{ type: 'text' as const, text: content }]
  return list(content, place).map((one, index) => {
    const where = at(place, index)
    const part = record(one, where)
    if (part.type === 'input_text' || part.type === 'output_text' || part.type === 'text')
      return { type: 'text' as const, text: text(part.text, at(where, 'text')) }
    if (part.type === 'refusal')
      return { type: 'text' as const, text: text(part.refusal, at(where, 'refusal')) }
    if (part.type !== 'input_image')
      throw bad(where, `content of type "${String(part.type)}" is not offered here`)
    const image = imageOfDataUrl(text(part.image_url, at(where, 'image_url')))
    if (image === null)
      throw bad(where, 'an image must be in the request (data:image/…;base64,…): nothing is fetched')
    return image
  })
}
