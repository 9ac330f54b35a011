/** Every request to a model, whoever makes it, goes through a `ModelRouter`. */
import type {
  Api,
  AssistantMessageEventStream,
  Model,
  SimpleStreamOptions,
  TranscriptContext,
} from '@earendil-works/pi-ai'

/** A request that failed, with what the transport knew. `body` is bounded and has no key in it. */
export type RequestFailure = {
  /** `refused`: the model or a filter declined, which is an answer and is never asked again. */
  cause: 'http' | 'network' | 'idle' | 'cut' | 'stream' | 'refused' | 'no_route' | 'budget'
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

/** Read from the final event of the stream, on every path (H42). */
export type RequestOutcome =
  | { state: 'done' }
  | { state: 'aborted' }
  | { state: 'failed'; failure: RequestFailure }

export type ModelRequest = {
  /** Globally unique; pi-ai keeps state by it. */
  sessionId: string
  model: Model<Api>
  context: TranscriptContext
  /** `signal`, `reasoning`, `maxTokens`, `temperature`; keys, headers and retries are the router's. */
  options: SimpleStreamOptions
  /** Called once, before the final event. */
  onOutcome?(outcome: RequestOutcome): void
}

export interface ModelRouter {
  /** `provider/id`, or an id whose provider is inferred. Throws `no_route`, `unknown_model`. */
  resolve(name: string): Model<Api>
  models(): readonly Model<Api>[]
  /** Never throws: a failure is the stream's final `error` event. One attempt is one HTTP request. */
  stream(request: ModelRequest): AssistantMessageEventStream
  /** Frees what the libraries keep for a session. */
  release(sessionId: string): void
}
