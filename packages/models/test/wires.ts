/** Sets up a router on each of the three wires, in front of a scripted server. */
import { type Clock, systemClock } from '@beige/protocol'
import { type ModelServer, type Script, startModelServer } from '@beige/test-support'
import type {
  Api,
  AssistantMessage,
  AssistantMessageEvent,
  Message,
  Model,
  ThinkingLevel,
  Tool,
} from '@earendil-works/pi-ai'
import { normalizeContext } from '@earendil-works/pi-ai/utils/transcript'
import {
  createModelRouter,
  type ModelRouter,
  type RequestFailure,
  type RequestOutcome,
  type WireApi,
} from '../src/index.ts'

export const KEY = 'sk-test-0123456789abcdef-very-secret'
export const WIRES = [
  'anthropic-messages',
  'openai-completions',
  'openai-responses',
  'google-generative-ai',
  'bedrock-converse-stream',
] as const
const PATHS: Partial<Record<WireApi, string>> = {
  'google-generative-ai': '/v1beta',
  'bedrock-converse-stream': '',
  'openai-codex-responses': '/backend-api',
}
/** Where a wire is served by the scripted server. */
export const placeOf = (server: ModelServer, api: WireApi): string => `${server.url}${PATHS[api] ?? '/v1'}`

/** For tests of the single attempt. */
export const ONCE = { passes: 1 } as const

export type Bench = AsyncDisposable & { server: ModelServer; router: ModelRouter; model: Model<Api> }

export async function bench(
  api: WireApi,
  script: Script,
  options: { clock?: Clock; reasoning?: boolean } = {},
): Promise<Bench> {
  const server = await startModelServer({ script, apiKey: KEY })
  const models = [
    { id: 'm-1', contextWindow: 100_000, maxTokens: 4096, reasoning: options.reasoning ?? false },
  ]
  const router = await createModelRouter({
    providers: { scripted: { baseUrl: placeOf(server, api), api, apiKey: KEY, models } },
    env: {},
    clock: options.clock ?? systemClock,
    fallback: ONCE,
  })
  return { server, router, model: router.resolve('m-1'), [Symbol.asyncDispose]: () => server.close() }
}

export type Answer = { message: AssistantMessage; outcome: RequestOutcome; events: AssistantMessageEvent[] }

export async function ask(
  { router, model }: Pick<Bench, 'router' | 'model'>,
  messages: readonly Message[],
  options: {
    signal?: AbortSignal
    reasoning?: ThinkingLevel
    onEvent?(event: AssistantMessageEvent): void
  } = {},
): Promise<Answer> {
  const { onEvent, ...requestOptions } = options
  const outcomes: RequestOutcome[] = []
  const events: AssistantMessageEvent[] = []
  const stream = router.stream({
    sessionId: 'session-under-test',
    model,
    context: normalizeContext({ messages: [...messages] }),
    options: requestOptions,
    onOutcome: outcome => outcomes.push(outcome),
  })
  for await (const event of stream) {
    events.push(event)
    onEvent?.(event)
  }
  const [outcome] = outcomes
  if (outcome === undefined || outcomes.length !== 1) throw new Error(`${outcomes.length} outcomes`)
  return { message: await stream.result(), outcome, events }
}

export function failed(answer: Answer): RequestFailure {
  if (answer.outcome.state !== 'failed') throw new Error(`the request was ${answer.outcome.state}`)
  return answer.outcome.failure
}

export const bash: Tool = {
  name: 'bash',
  description: 'Runs a command',
  parameters: { type: 'object', properties: { command: { type: 'string' } }, required: ['command'] },
}

export const system: Message = { role: 'system', content: 'Be brief.', toolsAdded: [bash], timestamp: 1 }
export function user(content: string): Message {
  return { role: 'user', content, timestamp: 1 }
}
export function toolResult(toolCallId: string, text: string): Message {
  return {
    role: 'toolResult',
    toolCallId,
    toolName: 'bash',
    content: [{ type: 'text', text }],
    isError: false,
    timestamp: 1,
  }
}
export function textOf(message: AssistantMessage): string {
  return message.content.map(block => (block.type === 'text' ? block.text : '')).join('')
}
export function callsOf(message: AssistantMessage) {
  return message.content.filter(block => block.type === 'toolCall')
}
