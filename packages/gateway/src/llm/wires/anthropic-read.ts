/** Reads a request of Anthropic Messages. What would change the answer and can not be done is refused by name. */
import type { AssistantMessage, Message, Tool, ToolResultMessage } from '@earendil-works/pi-ai'
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
import { assistantMessage, type LlmRequest, reasoningLevel, type ToolChoice } from '../llm-request.ts'
import { asObject } from './tools-read.ts'

const LEVEL_BY_BUDGET = [
  [2048, 'minimal'],
  [4096, 'low'],
  [12_288, 'medium'],
] as const

export function readAnthropic(body: Json): LlmRequest {
  if (body.mcp_servers !== undefined || body.container !== undefined)
    throw bad('mcp_servers', 'servers and containers of a provider are not offered here')
  const names = new Map<string, string>()
  const messages = list(body.messages, 'messages').flatMap((one, index) =>
    readMessage(record(one, at('messages', index)), at('messages', index), names),
  )
  if (messages.length === 0) throw bad('messages', 'must not be empty')
  const choice = optional(body, 'tool_choice', '', record)
  const metadata = optional(body, 'metadata', '', record)
  const config = optional(body, 'output_config', '', record)
  const format = config === undefined ? undefined : optional(config, 'format', 'output_config', record)
  return {
    isStreamed: optional(body, 'stream', '', flag) ?? false,
    systemPrompt: body.system === undefined ? '' : textOf(body.system, 'system'),
    messages,
    tools: (optional(body, 'tools', '', list) ?? []).flatMap((tool, index) =>
      readTool(tool, at('tools', index)),
    ),
    maxTokens: optional(body, 'max_tokens', '', count),
    temperature: optional(body, 'temperature', '', number),
    reasoning: readThinking(body, config),
    extras: {
      toolChoice: choice === undefined ? undefined : readChoice(choice),
      isParallel: choice?.disable_parallel_tool_use === true ? false : undefined,
      stop: optional(body, 'stop_sequences', '', texts),
      topP: optional(body, 'top_p', '', number),
      topK: optional(body, 'top_k', '', number),
      format:
        format === undefined
          ? undefined
          : {
              type: 'schema',
              name: 'answer',
              schema: record(format.schema, 'output_config.format.schema'),
              strict: true,
            },
    },
    conversation: metadata === undefined ? null : (optional(metadata, 'user_id', 'metadata', text) ?? null),
  }
}

function readThinking(body: Json, config: Json | undefined): LlmRequest['reasoning'] {
  const thinking = optional(body, 'thinking', '', record)
  if (thinking === undefined || thinking.type === 'disabled') return 'off'
  const effort = reasoningLevel(typeof config?.effort === 'string' ? config.effort : '')
  if (thinking.type !== 'enabled') return effort ?? 'high' // as the vendor does with thinking that adapts
  const budget = count(thinking.budget_tokens, 'thinking.budget_tokens')
  return effort ?? LEVEL_BY_BUDGET.find(([most]) => budget <= most)?.[1] ?? 'high'
}

function readChoice(choice: Json): ToolChoice {
  if (choice.type === 'any') return 'required'
  if (choice.type === 'tool') return { name: text(choice.name, 'tool_choice.name') }
  return choice.type === 'none' ? 'none' : 'auto'
}

function readTool(value: unknown, place: string): Tool[] {
  const tool = record(value, place)
  if (tool.type !== undefined && tool.type !== null && tool.type !== 'custom')
    throw bad(place, `a tool of type "${String(tool.type)}" runs at its vendor and is not offered here`)
  return [
    {
      name: text(tool.name, at(place, 'name')),
      description: optional(tool, 'description', place, text) ?? '',
      parameters: record(tool.input_schema, at(place, 'input_schema')),
    },
  ]
}

/** A user's message holds results and words; we have them apart. */
function readMessage(message: Json, place: string, names: Map<string, string>): Message[] {
  const where = at(place, 'content')
  if (message.role === 'system')
    return [{ role: 'system', content: textOf(message.content, where), timestamp: 0 }]
  if (message.role === 'assistant') return [readAssistant(message.content, where, names)]
  if (message.role !== 'user') throw bad(at(place, 'role'), 'must be user or assistant')
  if (typeof message.content === 'string') return [{ role: 'user', content: message.content, timestamp: 0 }]
  const out: Message[] = []
  for (const [index, one] of list(message.content, where).entries()) {
    const spot = at(where, index)
    const block = record(one, spot)
    if (block.type === 'tool_result') {
      out.push(readResult(block, spot, names))
      continue
    }
    const part = readPart(block, spot)
    const last = out.at(-1)
    if (last?.role === 'user' && typeof last.content !== 'string') last.content.push(part)
    else out.push({ role: 'user', content: [part], timestamp: 0 })
  }
  return out
}

function readPart(block: Json, place: string) {
  if (block.type === 'text') return { type: 'text' as const, text: text(block.text, at(place, 'text')) }
  if (block.type !== 'image') throw bad(place, `content of type "${String(block.type)}" is not offered here`)
  const source = record(block.source, at(place, 'source'))
  if (source.type !== 'base64')
    throw bad(at(place, 'source'), 'an image must be in the request as base64: nothing is fetched')
  return {
    type: 'image' as const,
    data: text(source.data, at(place, 'source.data')),
    mimeType: text(source.media_type, at(place, 'source.media_type')),
  }
}

function readResult(block: Json, place: string, names: Map<string, string>): ToolResultMessage {
  const id = text(block.tool_use_id, at(place, 'tool_use_id'))
  const { content } = block
  const parts =
    content === undefined || content === null
      ? []
      : typeof content === 'string'
        ? [{ type: 'text' as const, text: content }]
        : list(content, at(place, 'content')).flatMap((one, index) => {
            const part = record(one, at(at(place, 'content'), index))
            // Names of tools that a client loads late: what they are is in `tools`.
            return part.type === 'tool_reference'
              ? [{ type: 'text' as const, text: `tool ${String(part.tool_name)}` }]
              : [readPart(part, at(at(place, 'content'), index))]
          })
  return {
    role: 'toolResult',
    toolCallId: id,
    toolName: names.get(id) ?? 'unknown',
    content: parts,
    isError: block.is_error === true,
    timestamp: 0,
  }
}

function readAssistant(content: unknown, place: string, names: Map<string, string>): AssistantMessage {
  if (typeof content === 'string') return assistantMessage([{ type: 'text', text: content }])
  return assistantMessage(
    list(content, place).map((one, index): AssistantMessage['content'][number] => {
      const where = at(place, index)
      const block = record(one, where)
      switch (block.type) {
        case 'text':
          return { type: 'text', text: text(block.text, at(where, 'text')) }
        case 'thinking':
          return {
            type: 'thinking',
            thinking: text(block.thinking, at(where, 'thinking')),
            thinkingSignature: optional(block, 'signature', where, text) ?? '',
          }
        case 'redacted_thinking':
          return { type: 'thinking', thinking: '', thinkingSignature: text(block.data, at(where, 'data')) }
        case 'tool_use': {
          const id = text(block.id, at(where, 'id'))
          const name = text(block.name, at(where, 'name'))
          names.set(id, name)
          return { type: 'toolCall', id, name, arguments: asObject(block.input, at(where, 'input')) }
        }
        default:
          throw bad(where, `content of type "${String(block.type)}" is not offered here`)
      }
    }),
  )
}

function textOf(content: unknown, place: string): string {
  if (typeof content === 'string') return content
  return list(content, place)
    .map((one, index) => text(record(one, at(place, index)).text, at(at(place, index), 'text')))
    .join('\n\n')
}
