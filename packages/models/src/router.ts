/** Every request to a model, whoever makes it, goes through a `ModelRouter`. */
import type {
  Api,
  AssistantMessageEventStream,
  Model,
  SimpleStreamOptions,
  TranscriptContext,
} from '@earendil-works/pi-ai'
import type { Budget } from './budgets.ts'
import type { FailureClass } from './classify.ts'
import type { HealthEntry } from './health-file.ts'
import type { LimiterHealth } from './limiter.ts'
import type { RoutingRun } from './routing-run.ts'
import type { TokenUsage } from './usage.ts'

/** A request that failed, with what the transport knew. `body` is bounded and has no key in it. */
export type RequestFailure = {
  /**
   * `refused`: the model or a filter declined, which is an answer and is never asked again. `unavailable`: no model
   * was left that could be asked.
   */
  cause: 'http' | 'network' | 'idle' | 'cut' | 'stream' | 'refused' | 'no_route' | 'budget' | 'unavailable'
  status: number | null
  headers: Readonly<Record<string, string>>
  body: string
  /** Of the network below HTTP, e.g. `ECONNREFUSED`. */
  code: string | null
  /** As the server stated it, in any of its forms; null when it said nothing usable. */
  retryAfterMs: number | null
  retrySource: 'header' | 'body' | null
  message: string
}

export type ModelRef = { provider: string; id: string }

/** One model that could not answer; `attempts` 0: it was not asked, because it was cooling down. */
export type Tried = ModelRef & {
  class: FailureClass
  attempts: number
  message: string
  retryAtMs: number | null
}

/** Read from the final event of the stream, on every path (H42). */
export type RequestOutcome =
  | { state: 'done'; model: ModelRef }
  | { state: 'aborted' }
  | {
      state: 'failed'
      /** Of the last attempt. */
      failure: RequestFailure
      class: FailureClass
      tried: readonly Tried[]
      /** When one of the models may be asked again. */
      retryAtMs: number | null
    }

/** Told in its place among the events of the stream; the reader waits for what it returns. */
export type RouterNotice =
  /** What the stream gave so far is void, and another attempt begins. */
  | { type: 'discarded'; reason: string; attempt: number }
  /** The request waits for a slot of its provider; `position` from 1. */
  | { type: 'waiting'; provider: string; position: number }
  | { type: 'model_switched'; from: string; to: string; reason: SwitchReason }

/** `recovered`: back at a model that comes before the one that answered last. */
export type SwitchReason = 'fallback_rate_limit' | 'fallback_error' | 'fallback_timeout' | 'recovered'

export type ModelRequest = {
  /** Globally unique; pi-ai keeps state by it. */
  sessionId: string
  model: Model<Api>
  context: TranscriptContext
  /** What another model is sent instead of `context`; without it the same. */
  contextFor?(model: Model<Api>): TranscriptContext
  /** `signal`, `reasoning`, `maxTokens`, `temperature`; keys, headers and retries are the router's. */
  options: SimpleStreamOptions
  /** Shared by the requests of one prompt run. */
  run?: RoutingRun
  /** No other model is asked. */
  isAlone?: boolean
  /** The reader can not take back what it has got: an attempt that breaks off after its first piece is the answer. */
  isPartialKept?: boolean
  onNotice?(notice: RouterNotice): void | Promise<void>
  /** Called once, before the final event. */
  onOutcome?(outcome: RequestOutcome): void
}

/** One HTTP request that has ended, or with class `budget` one that was not sent; what an audit needs. */
export type AttemptReport = {
  scope: RouterScope
  sessionId: string
  model: ModelRef
  /** From 1 within its request. */
  attempt: number
  class: 'done' | FailureClass
  status: number | null
  message: string | null
  /** Only our own mistake can have caused it. */
  alarm: string | null
  usage: TokenUsage
  durationMs: number
}

/** On whose behalf requests are made. What is not said is taken from the router that it is made from. */
export type RouterScope = {
  agent?: string
  tenant?: string
  /** The id of a virtual key. */
  key?: string
  /** Tried in order when the request's own model can not answer. */
  fallbackModels?: readonly Fallback[]
  /** The only models that may be asked. */
  allowModels?: readonly string[]
  /** Beside those of the router that it is made from. */
  budgets?: readonly Budget[]
}
export type Fallback = { model: string; reasoning?: SimpleStreamOptions['reasoning'] }

export type RouterHealth = {
  limiters: Readonly<Record<string, LimiterHealth>>
  /** By `provider/model` or `provider/*`. */
  models: ReadonlyMap<string, HealthEntry>
  /** Why usage can not be written down at the moment. */
  ledgerError: string | null
}

export interface ModelRouter {
  /** `provider/id`, or an id whose provider is inferred. Throws `no_route`, `unknown_model`, `not_allowed`. */
  resolve(name: string): Model<Api>
  models(): readonly Model<Api>[]
  /** Never throws: a failure is the stream's final `error` event. One attempt is one HTTP request. */
  stream(request: ModelRequest): AssistantMessageEventStream
  /** The same router for somebody. Throws `unknown_model`, `no_price`, so that a mistake shows at the start. */
  for(scope: RouterScope): ModelRouter
  health(): RouterHealth
  /** Forgets the cooldowns of a model. */
  clearHealth(model: ModelRef): Promise<void>
  /** Frees what the libraries keep for a session. */
  release(sessionId: string): void
  /** Writes what is not written yet; requests must have ended. */
  close(): Promise<void>
}
