/** A request to a model as the gateway understands it, whatever wire it came over. */
import type { AssistantMessage, Message, SimpleStreamOptions, Tool } from '@earendil-works/pi-ai'
import { type Origin, openSignature } from './provenance.ts'

export type ToolChoice = 'auto' | 'none' | 'required' | { name: string }

export type AnswerFormat =
  | { type: 'json' }
  | { type: 'schema'; name: string; schema: Readonly<Record<string, unknown>>; strict: boolean }

/** What the providers' libraries do not know by one name; `wire-options.ts` puts it into the payload of each wire. */
export type Extras = {
  toolChoice?: ToolChoice | undefined
  stop?: readonly string[] | undefined
  topP?: number | undefined
  topK?: number | undefined
  format?: AnswerFormat | undefined
  /** False: one call of a tool at a time. */
  isParallel?: boolean | undefined
}

export type LlmRequest = {
  isStreamed: boolean
  systemPrompt: string
  messages: Message[]
  tools: Tool[]
  maxTokens: number | undefined
  temperature: number | undefined
  /** `off`: said to be off; undefined: nothing was said. */
  reasoning: NonNullable<SimpleStreamOptions['reasoning']> | 'off' | undefined
  extras: Extras
  /** What the client calls its conversation, for the provider's cache. */
  conversation: string | null
}

const LEVELS = ['minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const

/** A level by the names that wires have for it; undefined for one that nobody knows. */
export function reasoningLevel(name: string): LlmRequest['reasoning'] {
  return name === 'none' || name === 'off' ? 'off' : LEVELS.find(level => level === name)
}

const NO_USAGE: AssistantMessage['usage'] = {
  input: 0,
  output: 0,
  cacheRead: 0,
  cacheWrite: 0,
  totalTokens: 0,
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
}

/** What nobody has signed is treated as another model's: ids are made fit, unsigned thinking is left out. */
const FOREIGN: Origin = { provider: 'client', api: 'client', model: 'client' }

/**
 * A message of the model in the history. Its usage is never the client's word: budgets reserve by it.
 * Signed thinking says which model it is of; a signature that is not ours makes its thinking worthless to everybody.
 */
export function assistantMessage(content: AssistantMessage['content']): AssistantMessage {
  let origin: Origin = FOREIGN
  const opened = content.flatMap((block): AssistantMessage['content'] => {
    if (block.type === 'text') return [{ type: 'text', text: block.text }]
    if (block.type !== 'thinking') return [block]
    const found = openSignature(block.thinkingSignature ?? '')
    if (found === null) return []
    origin = found.origin
    return [
      {
        type: 'thinking',
        thinking: block.thinking,
        thinkingSignature: found.signature,
        ...(found.redacted ? { redacted: true } : {}),
      },
    ]
  })
  return {
    role: 'assistant',
    content: opened,
    ...origin,
    usage: NO_USAGE,
    stopReason: content.some(block => block.type === 'toolCall') ? 'toolUse' : 'stop',
    timestamp: 0,
  }
}
