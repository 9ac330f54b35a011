/**
 * Makes what a provider is sent out of a session's entries. The answer is always valid, whatever a crash, an abort or
 * another provider left in the log: every tool call has exactly one result, in order, and ids are unique (H13 to H16).
 * Used before every request and by nothing else.
 */

import type { ContentBlock, ResultBlock, Usage } from '@beige/protocol'
import type { CallState, ContextEntry, Entry, Summary } from '@beige/sessions'
import type { AssistantMessage, Message, ToolResultMessage, UserMessage } from '@earendil-works/pi-ai'
import type { Notice } from './jobs/session-notes.ts'

/** The model that will read it; `vision` false: images become a line of text. */
export type HistoryTarget = { provider: string; api: string; id: string; vision: boolean }

type AssistantBlock = AssistantMessage['content'][number]
type MessageEntry = Extract<Entry, { kind: 'message' }>

/**
 * `notices` are shown after the entry that they name: in the next message of the user, or as one of their own; so is the
 * summary that stands for entries.
 */
export function toProviderHistory(
  entries: readonly ContextEntry[],
  target: HistoryTarget,
  notices: readonly Notice[] = [],
): Message[] {
  const usedIds = new Set<string>()
  const messages: Message[] = []
  let waiting: string[] = [] // for the next message of the user
  for (const entry of entries) {
    const due = notices.filter(notice => notice.after === entry.id).map(notice => notice.text)
    if (entry.kind === 'summary') {
      waiting = [...waiting, summaryText(entry), ...due]
      continue
    }
    const ofUser = entry.kind === 'prompt' || entry.body.role === 'user'
    if (ofUser) {
      messages.push(userMessage(saidBy(entry), [...contextOf(entry), ...due], waiting, target))
      waiting = []
      continue
    }
    messages.push(...noticeMessage(waiting), ...assistantTurn(entry, target, usedIds))
    waiting = due
  }
  // Vendors take no conversation that begins with an answer; damage may have taken what it answers.
  const isHeadless = messages[0] !== undefined && messages[0].role !== 'user'
  return [...noticeMessage(isHeadless ? [LOST] : []), ...messages, ...noticeMessage(waiting)]
}

const LOST = '[what this answers could not be read]'

function summaryText({ of, text }: Summary): string {
  const what =
    of === 'compaction'
      ? 'The conversation up to here is told by this summary:'
      : 'The conversation went another way from here and came back; this summary tells what was done there:'
  return `${what}\n<summary>\n${text}\n</summary>`
}

function saidBy(entry: Entry): readonly ResultBlock[] {
  return entry.kind === 'prompt' ? entry.body.message : resultBlocks(entry.body.content)
}

function contextOf(entry: Entry): string[] {
  return entry.kind === 'prompt' && entry.body.context !== undefined ? [entry.body.context] : []
}

function noticeMessage(texts: readonly string[]): UserMessage[] {
  if (texts.length === 0) return []
  return [{ role: 'user', content: texts.map(textBlock), timestamp: 0 }]
}

const textBlock = (text: string) => ({ type: 'text', text: text.toWellFormed() }) as const

function userMessage(
  message: readonly ResultBlock[],
  after: readonly string[],
  before: readonly string[],
  target: HistoryTarget,
): UserMessage {
  const content = [...before.map(textBlock), ...shown(message, target), ...after.map(textBlock)]
  if (content.length === 0) content.push({ type: 'text', text: '(empty message)' })
  return { role: 'user', content, timestamp: 0 }
}

function assistantTurn(entry: MessageEntry, target: HistoryTarget, usedIds: Set<string>): Message[] {
  const { body } = entry
  const own = body.model?.provider === target.provider && body.model?.api === target.api
  const sameModel = own && body.model?.id === target.id
  const results = new Map<string, CallState>(entry.calls.map(call => [call.id, call]))
  const content: AssistantBlock[] = []
  const answers: ToolResultMessage[] = []
  for (const block of body.content) {
    if (block.type !== 'tool_call') {
      content.push(...assistantBlock(block, sameModel))
      continue
    }
    const id = requestId(block.id, own ? block.provider_id : undefined, usedIds)
    content.push({
      type: 'toolCall',
      id,
      name: block.name,
      arguments: jsonObject(block.input),
      ...(sameModel && block.signature !== undefined ? { thoughtSignature: block.signature } : {}),
    })
    answers.push(toolResult(id, block.name, results.get(block.id), target))
  }
  // Reasoning that led to nothing, e.g. before an abort: vendors refuse it without the item that it belongs to.
  while (content.at(-1)?.type === 'thinking') content.pop()
  if (content.length === 0) return []
  const assistant: AssistantMessage = {
    role: 'assistant',
    content,
    api: body.model?.api ?? target.api,
    provider: body.model?.provider ?? target.provider,
    model: body.model?.id ?? target.id,
    ...(sameModel && body.response_id !== undefined ? { responseId: body.response_id } : {}),
    usage: piUsage(body.usage),
    stopReason: answers.length > 0 ? 'toolUse' : 'stop',
    timestamp: 0,
  }
  return [assistant, ...answers]
}

/** The provider's own id where it is to read it again and has not repeated it, else ours, which is unique. */
function requestId(id: string, providerId: string | undefined, used: Set<string>): string {
  const chosen = providerId !== undefined && !used.has(providerId) ? providerId : id
  used.add(chosen)
  return chosen
}

function assistantBlock(block: ContentBlock, sameModel: boolean): AssistantBlock[] {
  switch (block.type) {
    case 'text':
      if (isBlank(block.text)) return []
      return [
        {
          type: 'text',
          text: block.text.toWellFormed(),
          ...(sameModel && block.signature !== undefined ? { textSignature: block.signature } : {}),
        },
      ]
    case 'thinking':
      // A signature is good for the model that made it alone; without one the block means nothing to a provider.
      if (!sameModel || block.signature === undefined) return []
      return [
        {
          type: 'thinking',
          thinking: block.text.toWellFormed(),
          thinkingSignature: block.signature,
          ...(block.redacted === undefined ? {} : { redacted: block.redacted }),
        },
      ]
    case 'image':
    case 'tool_call':
      return []
    default:
      return block satisfies never
  }
}

function toolResult(
  id: string,
  name: string,
  call: CallState | undefined,
  target: HistoryTarget,
): ToolResultMessage {
  const finished = call?.finished
  const content = finished
    ? shown(finished.content, target)
    : [{ type: 'text' as const, text: missing(call) }]
  if (content.length === 0) content.push({ type: 'text', text: '(no output)' })
  return {
    role: 'toolResult',
    toolCallId: id,
    toolName: name,
    content,
    isError: finished ? finished.is_error : true,
    timestamp: 0,
  }
}

function missing(call: CallState | undefined): string {
  return call?.started
    ? '[outcome unknown: the call was running when its owner stopped; check before you repeat it]'
    : '[interrupted: the call did not start]'
}

function shown(blocks: readonly ResultBlock[], target: HistoryTarget): UserContent[] {
  return blocks.flatMap((block): UserContent[] => {
    if (block.type === 'text')
      return isBlank(block.text) ? [] : [{ type: 'text', text: block.text.toWellFormed() }]
    if (target.vision) return [{ type: 'image', data: block.data, mimeType: block.media_type }]
    return [{ type: 'text', text: `[image: ${block.media_type}, ${block.data.length} bytes of base64]` }]
  })
}
type UserContent = Exclude<UserMessage['content'], string>[number]

function resultBlocks(blocks: readonly ContentBlock[]): ResultBlock[] {
  return blocks.flatMap(block => (block.type === 'text' || block.type === 'image' ? [block] : []))
}

/** A copy that providers take: an object, and no half of a surrogate pair in any string. */
function jsonObject(input: unknown): JsonObject {
  const copy: unknown = JSON.parse(JSON.stringify(input ?? {}), (_key, value: unknown) => {
    if (typeof value === 'string') return value.toWellFormed()
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key.toWellFormed(), one]))
  })
  return isJsonObject(copy) ? copy : {}
}

type JsonObject = Extract<AssistantBlock, { type: 'toolCall' }>['arguments']
function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function piUsage(usage: Usage | undefined): AssistantMessage['usage'] {
  const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: usage?.cost_usd ?? 0 }
  const input = usage?.input_tokens ?? 0
  const output = usage?.output_tokens ?? 0
  const cacheRead = usage?.cache_read_tokens ?? 0
  const cacheWrite = usage?.cache_write_tokens ?? 0
  return { input, output, cacheRead, cacheWrite, totalTokens: input + output + cacheRead + cacheWrite, cost }
}

/** Vendors refuse text without anything to read, or drop it and with it the message. */
const isBlank = (text: string) => text.trim() === ''
