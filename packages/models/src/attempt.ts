/**
 * One attempt is one request: from the call to the end of the answer, with its own abort and watchdogs. It is over only
 * when the library has let go and the connection is closed, so that nothing of it can act after another has begun.
 */
import { type Clock, messageOf } from '@beige/protocol'
import type { AssistantMessage, AssistantMessageEvent } from '@earendil-works/pi-ai'
import type { StreamOfWire } from './adapters.ts'
import { failureOf, hasErrorFrame } from './failure.ts'
import { providerRow } from './provider-table.ts'
import type { Redact } from './redactor.ts'
import type { ModelRequest, RequestFailure } from './router.ts'
import type { Route } from './routing.ts'
import type { Fetch } from './system-fetch.ts'
import { awsEnvironment, createTransport, type Exchange, placeholderKey } from './transport.ts'
import { NO_USAGE, settledUsage, type TokenUsage } from './usage.ts'
import { createWatchdog } from './watchdog.ts'

export type AttemptParts = {
  route: Route
  request: Pick<ModelRequest, 'sessionId' | 'context' | 'options'>
  wire: StreamOfWire
  fetch: Fetch
  clock: Clock
  redact: Redact
  userAgent: string
}

/** The final event of an attempt is held back, so that its outcome is known before anyone acts on it (H42). */
export type AttemptEnd = {
  message: AssistantMessage
  outcome: { state: 'done' } | { state: 'aborted' } | { state: 'failed'; failure: RequestFailure }
  usage: TokenUsage
  /** Of HTTP; null when no answer came. */
  status: number | null
  /** A request left this process. */
  isSent: boolean
}

export async function runAttempt(
  parts: AttemptParts,
  forward: (event: AssistantMessageEvent) => void,
): Promise<AttemptEnd> {
  const { route, request, clock } = parts
  const caller = request.options.signal
  const ours = new AbortController()
  const signal = caller === undefined ? ours.signal : AbortSignal.any([caller, ours.signal])
  const watchdog = createWatchdog(clock, route.endpoint.timeouts, () => ours.abort())
  const { fetch, exchange } = createTransport(route.endpoint, parts.fetch, signal, watchdog.sound)
  const aws = awsEnvironment(route.endpoint)
  try {
    const stream = parts.wire(requestModel(route), request.context, {
      ...request.options,
      sessionId: request.sessionId,
      signal,
      fetch,
      ...(aws === null ? { apiKey: placeholderKey(route.endpoint.key) } : { env: aws }),
      headers: { ...request.options.headers, ...route.endpoint.headers },
      identity: { userAgent: { custom: parts.userAgent } },
      // Said out loud, because the library would look into the process environment.
      cacheRetention: request.options.cacheRetention ?? 'short',
      maxRetries: 0,
      // Covers headers alone; the watchdog covers all of it.
      timeoutMs: NO_LIBRARY_TIMEOUT_MS,
    })
    let last: AssistantMessage | null = null
    for await (const event of stream) {
      if (event.type === 'done' || event.type === 'error') {
        last = event.type === 'done' ? event.message : event.error
        break
      }
      if (event.type !== 'start') watchdog.token()
      forward(event)
    }
    const message = last ?? (await stream.result())
    const outcome = outcomeOf(message, exchange, caller?.aborted === true, () =>
      failureOf(
        {
          exchange,
          silence: watchdog.silence(),
          libraryMessage: message.errorMessage ?? 'the library gave no reason',
          stopReason: message.rawStopReason ?? null,
        },
        parts.redact,
        clock.now(),
        providerRow(route.endpoint.id)?.utcOffset,
      ),
    )
    const usage = settledUsage({
      model: route.model,
      message,
      context: request.context,
      isBilled: isBilled(outcome, exchange, message),
      isWhole: outcome.state === 'done',
      head: exchange.body.head(),
      tail: exchange.body.tail(),
    })
    return { message: told(message, outcome), outcome, usage, status: exchange.status, isSent: exchange.sent }
  } finally {
    // An adapter that gave up in the middle of a stream leaves its connection open.
    ours.abort()
    await watchdog.stop()
  }
}

function outcomeOf(
  message: AssistantMessage,
  exchange: Exchange,
  isAborted: boolean,
  failure: () => RequestFailure,
): AttemptEnd['outcome'] {
  const isAnswer = message.stopReason !== 'error' && message.stopReason !== 'aborted'
  if (isAnswer && !hasErrorFrame(exchange)) return { state: 'done' }
  return isAborted ? { state: 'aborted' } : { state: 'failed', failure: failure() }
}

/** Whether a provider charges for it, as far as one can tell without its own numbers. */
function isBilled(outcome: AttemptEnd['outcome'], exchange: Exchange, message: AssistantMessage): boolean {
  if (!exchange.sent) return false
  if (outcome.state !== 'failed') return true
  switch (outcome.failure.cause) {
    case 'cut':
    case 'idle':
      return true
    case 'stream':
    case 'refused':
      return message.content.length > 0
    default:
      return false
  }
}

function told(message: AssistantMessage, outcome: AttemptEnd['outcome']): AssistantMessage {
  if (outcome.state === 'done') return message
  if (outcome.state === 'aborted') return { ...message, stopReason: 'aborted' }
  return { ...message, stopReason: 'error', errorMessage: outcome.failure.message }
}

const NO_LIBRARY_TIMEOUT_MS = 2_147_483_647

/** The model as the library sees it, without what would make it act on its own. */
function requestModel({ model }: Route): Route['model'] {
  if (model.api !== 'anthropic-messages') return model
  const compat = { ...model.compat, supportsMessageThreads: false, allowedFallbackModels: [] }
  return { ...model, compat }
}

/** The end of a request that never became an attempt. */
export function unsent(
  request: Pick<ModelRequest, 'model' | 'options'>,
  error: unknown,
  now: number,
  cause: RequestFailure['cause'],
): AttemptEnd {
  const aborted = request.options.signal?.aborted === true
  const message: AssistantMessage = {
    role: 'assistant',
    content: [],
    api: request.model.api,
    provider: request.model.provider,
    model: request.model.id,
    usage: {
      input: 0,
      output: 0,
      cacheRead: 0,
      cacheWrite: 0,
      totalTokens: 0,
      cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
    },
    stopReason: aborted ? 'aborted' : 'error',
    errorMessage: messageOf(error),
    timestamp: now,
  }
  const failure: RequestFailure = {
    cause,
    status: null,
    headers: {},
    body: '',
    code: null,
    retryAfterMs: null,
    retrySource: null,
    message: messageOf(error),
  }
  const outcome: AttemptEnd['outcome'] = aborted ? { state: 'aborted' } : { state: 'failed', failure }
  return { message, outcome, usage: NO_USAGE, status: null, isSent: false }
}
