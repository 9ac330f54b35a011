/**
 * The model of a simulation, behind the router's interface. What it says follows from what it is shown alone: a prompt
 * `task KEY PLAN` is carried out step by step, so that whoever asks again gets the same effect named, never a new one.
 */
import type { ModelRequest, ModelRouter, RequestOutcome } from '@beige/models'
import type { Api, AssistantMessage, Model, ToolCall } from '@earendil-works/pi-ai'
import { createAssistantMessageEventStream } from '@earendil-works/pi-ai/utils/event-stream'
import { KEY_IN_PROMPT } from '../../session-proof/told.ts'
import type { Dice } from './dice.ts'
import type { Link } from './sim-exec-client.ts'
import type { SimProcess } from './sim-process.ts'

export const SIM_MODEL: Model<Api> = {
  id: 'scripted',
  name: 'scripted',
  api: 'anthropic-messages',
  provider: 'simulated',
  baseUrl: 'http://model.simulated',
  input: ['text'],
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
  reasoning: false,
  contextWindow: 1_000_000,
  maxTokens: 4096,
}

const TASK = /^task (\S+) (\d+)/m
const NO_ANSWER_MS = 800

export type SimRouterParts = {
  process: Pick<SimProcess, 'after'>
  /** The text of a command whose effect is `token`. */
  command(token: string, afterMs: number, lastsMs: number): string
  dice: Dice
  link: Link
  /** Told of each request: the prompts in it, in order. */
  asked(sessionId: string, keys: readonly string[]): void
}

export function createSimRouter({ process, dice, link, asked, command }: SimRouterParts): ModelRouter {
  function stream(request: ModelRequest) {
    const out = createAssistantMessageEventStream()
    const { signal } = request.options
    const { text, calls } = answerTo(request.context.messages, command)
    asked(request.sessionId, promptKeys(request.context.messages))
    let isOver = false
    const end = (message: AssistantMessage, outcome: RequestOutcome) => {
      if (isOver) return
      isOver = true
      link.onCut.delete(broken)
      signal?.removeEventListener('abort', aborted)
      request.onOutcome?.(outcome)
      const { stopReason } = message
      if (stopReason === 'error' || stopReason === 'aborted')
        out.push({ type: 'error', reason: stopReason, error: message })
      else if (stopReason === 'stop' || stopReason === 'toolUse')
        out.push({ type: 'done', reason: stopReason, message })
      out.end(message)
    }
    const aborted = () => end(messageOf('', [], 'aborted'), { state: 'aborted' })
    const broken = () =>
      void process.after(dice.between(1, NO_ANSWER_MS), 'gives up on the model', () =>
        end(messageOf('', [], 'error'), cutOff()),
      )
    signal?.addEventListener('abort', aborted, { once: true })
    if (signal?.aborted) process.after(0, 'asks no model', aborted)
    else if (link.isCut) broken()
    else {
      link.onCut.add(broken)
      const thinksMs = dice.between(2, 40)
      process.after(thinksMs, 'hears the model', () => {
        if (isOver) return
        const partial = messageOf(text, [], 'pending')
        out.push({ type: 'start', partial })
        out.push({ type: 'text_delta', contentIndex: 0, delta: text, partial })
      })
      process.after(thinksMs + dice.between(1, 20), 'has an answer', () =>
        end(messageOf(text, calls, calls.length > 0 ? 'toolUse' : 'stop'), {
          state: 'done',
          model: SIM_MODEL_REF,
        }),
      )
    }
    return out
  }

  const router: ModelRouter = {
    resolve: () => SIM_MODEL,
    models: () => [SIM_MODEL],
    stream,
    for: () => router,
    health: () => ({ limiters: {}, models: new Map(), ledgerError: null }),
    clearHealth: async () => {},
    release: () => {},
    close: async () => {},
  }
  return router
}

const SIM_MODEL_REF = { provider: SIM_MODEL.provider, id: SIM_MODEL.id }

type Messages = ModelRequest['context']['messages']

function promptKeys(messages: Messages): string[] {
  return messages.flatMap(message => {
    if (message.role !== 'user') return []
    const [, key] = KEY_IN_PROMPT.exec(textOf(message.content)) ?? []
    return key === undefined ? [] : [key]
  })
}

/** Of the plan: how many steps have tools, which they are, how long their commands last. */
function answerTo(
  messages: Messages,
  command: SimRouterParts['command'],
): { text: string; calls: ToolCall[] } {
  const at = messages.findLastIndex(one => one.role === 'user' && TASK.test(textOf(one.content)))
  const task = messages[at]
  const [, key = '', plan = '0'] = TASK.exec(task?.role === 'user' ? textOf(task.content) : '') ?? []
  const since = messages.slice(at + 1)
  const step = since.filter(one => one.role === 'assistant').length
  const bits = Math.floor(Number(plan) / 16 ** step)
  const last = since.at(-1)
  const isBehind = last?.role === 'toolResult' && textOf(last.content).includes('[running as job')
  if (isBehind && bits % 2 === 1) {
    return { text: 'It goes on.', calls: [callOf(`${key}.${step}`, 'bash_job', { timeout_ms: 3000 })] }
  }
  const steps = Number(plan) % 3
  if (step >= steps) return { text: `done ${key}`, calls: [] }
  const count = 1 + (bits % 2)
  const calls = Array.from({ length: count }, (_, index) => {
    const token = `${key}.${step}.${index}`
    const kind = (bits + index * 5) % 8
    const text = command(token, 1 + ((bits * 7) % 30), kind === 0 ? 2500 : 5 + (bits % 60))
    if (kind === 1) return callOf(token, 'note', { text })
    if (kind === 2) return callOf(token, 'peek', {})
    return callOf(token, 'bash', { command: text })
  })
  return { text: `step ${step} of ${key}`, calls }
}

function callOf(id: string, name: string, args: ToolCall['arguments']): ToolCall {
  return { type: 'toolCall', id: `p_${id}`, name, arguments: args }
}

function messageOf(
  text: string,
  calls: ToolCall[],
  stopReason: AssistantMessage['stopReason'],
): AssistantMessage {
  return {
    role: 'assistant',
    content: text === '' ? calls : [{ type: 'text', text }, ...calls],
    api: SIM_MODEL.api,
    provider: SIM_MODEL.provider,
    model: SIM_MODEL.id,
    usage: {
      ...{ input: 10, output: 5, cacheRead: 0, cacheWrite: 0, totalTokens: 15 },
      cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
    },
    stopReason,
    timestamp: 0,
    ...(stopReason === 'error' ? { errorMessage: 'the model was cut off' } : {}),
  }
}

function cutOff(): RequestOutcome {
  return {
    state: 'failed',
    failure: {
      ...({ cause: 'cut', status: null, headers: {}, body: '', code: 'ECONNRESET' } as const),
      ...{ retryAfterMs: null, retrySource: null, message: 'the model was cut off' },
    },
    class: 'transient',
    tried: [],
    retryAtMs: null,
  }
}

function textOf(content: string | readonly { type: string; text?: string }[]): string {
  if (typeof content === 'string') return content
  return content.map(block => block.text ?? '').join('\n')
}
