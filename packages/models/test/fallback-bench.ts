/** A router over scripted models of several providers, with a clock that skips what is waited for. */
import type { Clock, Random } from '@beige/protocol'
import { type AnswerServer, type CannedAnswer, cannedStream, startAnswerServer } from '@beige/test-support'
import type { AssistantMessage, AssistantMessageEvent } from '@earendil-works/pi-ai'
import { normalizeContext } from '@earendil-works/pi-ai/utils/transcript'
import {
  createModelRouter,
  type ModelRequest,
  type ModelRouter,
  type ModelRouterOptions,
  type ProviderConfig,
  type RequestOutcome,
  type RouterNotice,
} from '../src/index.ts'
import { KEY, system, user } from './wires.ts'

/** What a model says to its n-th request, from 1. */
export type Behaviour = (n: number) => CannedAnswer | Promise<CannedAnswer>

export type SkippingClock = Clock & {
  /** What was waited for, in ms; watchdogs excepted. */
  waits: number[]
  skip(ms: number): void
  /** Moves on and wakes the watchdogs. */
  fire(ms: number): void
}
const WATCHDOG_MS = 100_000

export function skippingClock(startMs = Date.UTC(2026, 7, 24, 12)): SkippingClock {
  let elapsed = 0
  const waits: number[] = []
  const watchdogs = new Set<() => void>()
  return {
    fire(ms) {
      elapsed += ms
      for (const wake of watchdogs) wake()
    },
    now: () => startMs + elapsed,
    monotonic: () => elapsed,
    waits,
    skip(ms) {
      elapsed += ms
    },
    sleep(ms, signal) {
      if (signal?.aborted) return Promise.reject(signal.reason)
      if (ms < WATCHDOG_MS) {
        elapsed += ms
        waits.push(ms)
        return Promise.resolve()
      }
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      watchdogs.add(resolve)
      signal?.addEventListener('abort', () => reject(signal.reason), { once: true })
      return promise
    },
  }
}

/** All bits set: full jitter is nearly the whole of the backoff. */
export const highRandom: Random = { bytes: count => new Uint8Array(count).fill(255) }

export type FallbackBench = AsyncDisposable & {
  server: AnswerServer
  router: ModelRouter
  clock: SkippingClock
  /** `provider/model`, in order of arrival. */
  asked: string[]
  /** The bodies in that order. */
  bodies: string[]
}

/** `models`: behaviours by `provider/model`; all speak the wire of chat completions. */
export async function fallbackBench(
  models: Readonly<Record<string, Behaviour>>,
  options: Partial<ModelRouterOptions> & {
    clock?: SkippingClock
    config?: Readonly<Record<string, Partial<ProviderConfig>>>
  } = {},
): Promise<FallbackBench> {
  const { config = {}, ...routerOptions } = options
  const clock = options.clock ?? skippingClock()
  const asked: string[] = []
  const bodies: string[] = []
  const counts = new Map<string, number>()
  const server = await startAnswerServer(request => {
    const name = nameIn(request.path, request.body)
    asked.push(name)
    bodies.push(request.body)
    const n = (counts.get(name) ?? 0) + 1
    counts.set(name, n)
    return models[name]?.(n) ?? { status: 500, body: `no behaviour for ${name}` }
  })
  const names = Object.keys(models)
  const providers = Object.fromEntries(
    [...new Set(names.map(name => name.split('/')[0] ?? ''))].map(provider => [
      provider,
      {
        baseUrl: `${server.url}/${provider}/v1`,
        api: 'openai-completions' as const,
        apiKey: KEY,
        models: names
          .filter(name => name.startsWith(`${provider}/`))
          .map(name => ({
            id: name.slice(provider.length + 1),
            contextWindow: 100_000,
            maxTokens: 1000,
            cost: { input: 2, output: 10, cacheRead: 0.2, cacheWrite: 2.5 },
          })),
        ...config[provider],
      },
    ]),
  )
  const made = createModelRouter({ providers, env: {}, random: highRandom, ...routerOptions, clock })
  const router = await made.catch(async error => {
    await server.close()
    throw error
  })
  return { server, router, clock, asked, bodies, [Symbol.asyncDispose]: () => server.close() }
}

function nameIn(path: string, body: string): string {
  const provider = path.split('/')[1] ?? ''
  const model = /"model":"([^"]+)"/.exec(body)?.[1] ?? ''
  return `${provider}/${model}`
}

export type Asked = {
  message: AssistantMessage
  outcome: RequestOutcome
  /** Events and notices in their order, as the reader sees them. */
  seen: string[]
  notices: RouterNotice[]
}

export async function askFor(
  router: ModelRouter,
  name: string,
  more: Partial<ModelRequest> & { onEvent?(event: AssistantMessageEvent): void } = {},
): Promise<Asked> {
  const { onEvent, ...request } = more
  const seen: string[] = []
  const notices: RouterNotice[] = []
  const outcomes: RequestOutcome[] = []
  const stream = router.stream({
    sessionId: 's_test',
    model: router.resolve(name),
    context: normalizeContext({ messages: [system, user('hi')] }),
    options: {},
    ...request,
    onNotice: async notice => {
      await request.onNotice?.(notice)
      notices.push(notice)
      seen.push(notice.type)
    },
    onOutcome: outcome => outcomes.push(outcome),
  })
  for await (const event of stream) {
    seen.push(event.type === 'text_delta' ? event.delta : event.type)
    onEvent?.(event)
  }
  const [outcome] = outcomes
  if (outcome === undefined || outcomes.length !== 1) throw new Error(`${outcomes.length} outcomes`)
  return { message: await stream.result(), outcome, seen, notices }
}

const SSE = { 'content-type': 'text/event-stream' }
export function says(text: string, usage?: { inputTokens: number; outputTokens: number }): CannedAnswer {
  return {
    headers: SSE,
    body: cannedStream('openai-chat', { text, ...(usage === undefined ? {} : { usage }) }),
  }
}
/** The beginning of an answer, then the end of the connection. */
export function cutAfter(text: string): CannedAnswer {
  return { headers: SSE, body: cannedStream('openai-chat', { text }).slice(0, 2) }
}
export function refuses(
  status: number,
  headers: Record<string, string> = {},
  message = `status ${status}`,
): CannedAnswer {
  return { status, headers, body: JSON.stringify({ error: { message } }) }
}
