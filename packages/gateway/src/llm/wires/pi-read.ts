/** Reads a conversation in pi's own words, which `/messages` and `/api/chat/stream` share. */
import type { AssistantMessage, Message, Tool } from '@earendil-works/pi-ai'
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

/** `{systemPrompt?, messages, tools?}`; messages may hold the prompt and the tools themselves. */
export function readContext(
  context: Json,
  place: string,
): Pick<LlmRequest, 'systemPrompt' | 'messages' | 'tools'> {
  const where = at(place, 'messages')
  const messages = list(context.messages, where).flatMap((one, index) =>
    readMessage(record(one, at(where, index)), at(where, index)),
  )
  return {
    systemPrompt: optional(context, 'systemPrompt', place, text) ?? '',
    messages,
    tools: readTools(context.tools, at(place, 'tools')),
  }
}

/** `temperature maxTokens reasoning toolChoice stop`, and of pi's wire `sessionId` and `cacheRetention`. */
export function readOptions(
  options: Json,
  place: string,
  known: readonly string[],
): Omit<LlmRequest, 'systemPrompt' | 'messages' | 'tools' | 'isStreamed'> {
  for (const name of Object.keys(options))
    if (!known.includes(name)) throw bad(at(place, name), `only ${known.join(', ')} may be given`)
  return {
    maxTokens: optional(options, 'maxTokens', place, count),
    temperature: optional(options, 'temperature', place, number),
    reasoning: reasoningLevel(optional(options, 'reasoning', place, text) ?? ''),
    extras: {
      toolChoice: optional(options, 'toolChoice', place, readChoice),
      stop: optional(options, 'stop', place, (value, spot) =>
        typeof value === 'string' ? [value] : texts(value, spot),
      ),
    },
    conversation: optional(options, 'sessionId', place, text) ?? null,
  }
}

function readChoice(value: unknown, place: string): ToolChoice {
  if (value === 'auto' || value === 'none' || value === 'required') return value
  const choice = record(value, place)
  return { name: text(record(choice.function, at(place, 'function')).name, at(place, 'function.name')) }
}

function readTools(value: unknown, place: string): Tool[] {
  if (value === undefined || value === null) return []
  return list(value, place).map((one, index) => {
    const where = at(place, index)
    const tool = record(one, where)
    return {
      name: text(tool.name, at(where, 'name')),
      description: optional(tool, 'description', where, text) ?? '',
      parameters: record(tool.parameters, at(where, 'parameters')),
    }
  })
}

function readMessage(message: Json, place: string): Message[] {
  const where = at(place, 'content')
  switch (message.role) {
    case 'system': {
      const sections = optional(message, 'sections', place, record)
      const removed = optional(message, 'toolsRemoved', place, list)
      const added = readTools(message.toolsAdded, at(place, 'toolsAdded'))
      return [
        {
          role: 'system',
          content: wordsOf(message.content, where),
          ...(sections === undefined
            ? {}
            : {
                sections: Object.fromEntries(
                  Object.entries(sections).map(([name, one]) => [
                    name,
                    one === null ? null : text(one, at(at(place, 'sections'), name)),
                  ]),
                ),
              }),
          ...(added.length === 0 ? {} : { toolsAdded: added }),
          ...(removed === undefined
            ? {}
            : {
                toolsRemoved: removed.map(one => ({
                  name: text(record(one, place).name, at(place, 'toolsRemoved')),
                })),
              }),
          timestamp: 0,
        },
      ]
    }
    case 'user':
      return [
        {
          role: 'user',
          content: typeof message.content === 'string' ? message.content : partsOf(message.content, where),
          timestamp: 0,
        },
      ]
    case 'assistant': {
      // What failed or was stopped is no part of a conversation.
      if (message.stopReason === 'error' || message.stopReason === 'aborted') return []
      return [
        assistantMessage(list(message.content, where).map((one, index) => readBlock(one, at(where, index)))),
      ]
    }
    case 'toolResult':
      return [
        {
          role: 'toolResult',
          toolCallId: text(message.toolCallId, at(place, 'toolCallId')),
          toolName: text(message.toolName, at(place, 'toolName')),
          content: partsOf(message.content, where),
          isError: optional(message, 'isError', place, flag) ?? false,
          timestamp: 0,
        },
      ]
    default:
      throw bad(at(place, 'role'), 'must be one of system, user, assistant, toolResult')
  }
}

function readBlock(value: unknown, place: string): AssistantMessage['content'][number] {
  const block = record(value, place)
  switch (block.type) {
    case 'text':
      return { type: 'text', text: text(block.text, at(place, 'text')) }
    case 'thinking':
      return {
        type: 'thinking',
        thinking: text(block.thinking, at(place, 'thinking')),
        thinkingSignature: optional(block, 'thinkingSignature', place, text) ?? '',
      }
    case 'toolCall':
      return {
        type: 'toolCall',
        id: text(block.id, at(place, 'id')),
        name: text(block.name, at(place, 'name')),
        arguments: asObject(block.arguments, at(place, 'arguments')),
      }
    default:
      throw bad(place, `content of type "${String(block.type)}" is not known`)
  }
}

function partsOf(content: unknown, place: string) {
  return list(content, place).map((one, index) => {
    const where = at(place, index)
    const part = record(one, where)
    if (part.type === 'text') return { type: 'text' as const, text: text(part.text, at(where, 'text')) }
    if (part.type !== 'image') throw bad(where, `content of type "${String(part.type)}" is not known`)
    return {
      type: 'image' as const,
      data: text(part.data, at(where, 'data')),
      mimeType: text(part.mimeType, at(where, 'mimeType')),
    }
  })
}

function wordsOf(content: unknown, place: string): string {
  if (typeof content === 'string') return content
  return partsOf(content, place)
    .map(part => (part.type === 'text' ? part.text : ''))
    .join('\n\n')
}
