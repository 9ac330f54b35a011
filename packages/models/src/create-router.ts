/** Makes the `ModelRouter`: routes, one attempt a request, and nothing kept between requests. */
import { type Clock, messageOf } from '@beige/protocol'
import type { Api, AssistantMessage, AssistantMessageEventStream, Model } from '@earendil-works/pi-ai'
import { cleanupSessionResources } from '@earendil-works/pi-ai/session-resources'
import { createAssistantMessageEventStream } from '@earendil-works/pi-ai/utils/event-stream'
import { loadWire } from './adapters.ts'
import { type AttemptEnd, runAttempt, unsent } from './attempt.ts'
import type { Environment } from './endpoint.ts'
import { fail } from './errors.ts'
import { DEFAULT_TIMEOUTS, type ProviderConfig, type Timeouts } from './provider-config.ts'
import { WIRES, type WireApi } from './provider-table.ts'
import { createRedactor, type Redact } from './redactor.ts'
import type { ModelRequest, ModelRouter, RequestOutcome } from './router.ts'
import { createRoutes, type Routes } from './routing.ts'
import { type Fetch, systemFetch } from './system-fetch.ts'

export type ModelRouterOptions = {
  /** `llm.providers` of a configuration; a name of the table or a new one. */
  providers?: Readonly<Record<string, ProviderConfig>>
  /** Handed in: neither we nor a library look into the process environment. */
  env: Environment
  clock: Clock
  fetch?: Fetch
  timeouts?: Partial<Timeouts>
  userAgent?: string
}

/**
 * @example
 * const router = await createModelRouter({ env: takeProviderVariables(process.env), clock: systemClock })
 * const model = router.resolve('claude-opus-4-8')
 * const stream = router.stream({ sessionId, model, context, options: { signal }, onOutcome })
 */
export async function createModelRouter(options: ModelRouterOptions): Promise<ModelRouter> {
  const timeouts = { ...DEFAULT_TIMEOUTS, ...options.timeouts }
  const routes = await createRoutes(options.providers ?? {}, options.env, timeouts)
  const redact = createRedactor(secretsOf(routes))
  const parts: Parts = {
    routes,
    redact,
    clock: options.clock,
    fetch: options.fetch ?? systemFetch,
    userAgent: options.userAgent ?? 'beige',
  }
  return {
    resolve: name => routes.route(name).model,
    models: () => routes.endpoints.flatMap(endpoint => [...endpoint.models.values()]),
    stream(request) {
      const stream = createAssistantMessageEventStream()
      void serve(parts, request, stream) // never rejects
      return stream
    },
    release: sessionId => cleanupSessionResources(sessionId),
  }
}

/** Loads the library of a model's wire ahead of its first request, e.g. while a session opens. */
export async function warmUp(model: Model<Api>): Promise<void> {
  await loadWire(wireOf(model))
}

type Parts = { routes: Routes; redact: Redact; clock: Clock; fetch: Fetch; userAgent: string }

async function serve(
  parts: Parts,
  request: ModelRequest,
  stream: AssistantMessageEventStream,
): Promise<void> {
  const { message, outcome } = await attempt(parts, request, stream)
  const told = tell(request, message, outcome)
  if (told.stopReason === 'error' || told.stopReason === 'aborted')
    stream.push({ type: 'error', reason: told.stopReason, error: told })
  else if (told.stopReason !== 'pending')
    stream.push({ type: 'done', reason: told.stopReason, message: told })
  stream.end(told)
}

/** An outcome that its listener could not take in is no success. */
function tell(request: ModelRequest, message: AssistantMessage, outcome: RequestOutcome): AssistantMessage {
  try {
    request.onOutcome?.(outcome)
    return message
  } catch (error) {
    const errorMessage = `the outcome of the request could not be kept: ${messageOf(error)}`
    return { ...message, stopReason: 'error', errorMessage }
  }
}

async function attempt(
  parts: Parts,
  request: ModelRequest,
  stream: AssistantMessageEventStream,
): Promise<AttemptEnd> {
  const route = parts.routes.routeOf(request.model)
  if (route === null) {
    const model = `${request.model.provider}/${request.model.id}`
    return unsent(request, fail('no_route', { model, variable: 'its key' }), parts.clock.now(), 'no_route')
  }
  try {
    request.options.signal?.throwIfAborted()
    const wire = await loadWire(wireOf(route.model))
    return await runAttempt({ ...parts, route, request, wire }, event => stream.push(event))
  } catch (error) {
    // What a library throws instead of streaming, e.g. about a request that it can not build.
    return unsent(request, parts.redact(messageOf(error)), parts.clock.now(), 'stream')
  }
}

function wireOf(model: Model<Api>): WireApi {
  const wire = WIRES.find(known => known === model.api)
  if (wire === undefined) throw fail('wrong_wire', { model: model.id, api: model.api })
  return wire
}

function secretsOf(routes: Routes): string[] {
  return routes.endpoints.flatMap(endpoint => [
    ...(endpoint.key === null ? [] : [endpoint.key]),
    ...Object.entries(endpoint.headers)
      .filter(([name]) => /auth|key|token|secret|cookie/i.test(name))
      .map(([, value]) => value),
  ])
}
