/** Makes the `ModelRouter`: routes, limits, health and money of one process behind one door. */
import { join } from 'node:path'
import { type Clock, messageOf, type Random, systemRandom } from '@beige/protocol'
import type { Api, Model, SimpleStreamOptions } from '@earendil-works/pi-ai'
import { cleanupSessionResources } from '@earendil-works/pi-ai/session-resources'
import { loadWire } from './adapters.ts'
import { type Answer, type AnswerParts, type Attempt, answer } from './answer.ts'
import { type AttemptEnd, runAttempt, unsent } from './attempt.ts'
import { createAccounts } from './budgets.ts'
import { fail } from './errors.ts'
import { type FallbackNumbers, fallbackNumbers } from './fallback-numbers.ts'
import { type Ledger, openLedger, readLedger } from './ledger.ts'
import { createLimiter, type Limiter } from './limiter.ts'
import { type MeterParts, metered, withinRun } from './meter.ts'
import type { ModelsFile } from './models-file.ts'
import { nodeDisk } from './node-disk.ts'
import type { StateDisk } from './outside.ts'
import { DEFAULT_TIMEOUTS, type ProviderConfig, type Timeouts } from './provider-config.ts'
import { openProviderHealth, type ProviderHealth } from './provider-health.ts'
import { WIRES, type WireApi } from './provider-table.ts'
import { createRedactor, type Redact, type Redactor } from './redactor.ts'
import { createRequestStream } from './request-stream.ts'
import type { AttemptReport, ModelRequest, ModelRouter, RouterScope } from './router.ts'
import { createRoutes, type Route, type Routes, type RoutesParts } from './routing.ts'
import type { Environment } from './routing-order.ts'
import { createRunIds, nameOf, type RunIds } from './routing-run.ts'
import { type Candidate, createScope, EVERYBODY, narrowed } from './scope.ts'
import type { SecretValues } from './secret-value.ts'
import { type Fetch, systemFetch } from './system-fetch.ts'

export const HEALTH_FILE = 'provider-health.json'
export const LEDGER_FILE = 'usage.jsonl'

export type ModelRouterOptions = {
  /** `llm.providers` of a configuration; a name of the table or a new one. */
  providers?: Readonly<Record<string, ProviderConfig>>
  /** Handed in: neither we nor a library look into the process environment. */
  env: Environment
  clock: Clock
  random?: Random
  fetch?: Fetch
  timeouts?: Partial<Timeouts>
  /** `--gateway-url` and `--key`, or the setting; their variables are read from `env`. */
  gateway?: { url?: string | undefined; key?: string | undefined }
  /** Stored logins; `Logins.usable()` gives them. */
  logins?: RoutesParts['logins']
  /** `models.json`, and what opens its values. */
  models?: { file: ModelsFile; secrets: SecretValues }
  /** For every request that does not say it itself. A temperature is left out where the model thinks. */
  request?: Pick<SimpleStreamOptions, 'temperature' | 'cacheRetention' | 'thinkingBudgets'>
  /** Ids that no catalogue lists are sent to the provider whose they are by their prefix. */
  takesUnknownIds?: boolean
  /** `llm.fallback` of a configuration. */
  fallback?: Partial<FallbackNumbers>
  /** For everybody, e.g. fallback models and `llm.budget`; `for` narrows it. */
  scope?: RouterScope
  /** Where cooldowns and usage are kept; without it nothing outlives the process. */
  state?: {
    directory: string
    disk?: StateDisk
    /** False where no budget will be set: what was spent before is then not read at the start. */
    isLedgerRead?: boolean
  }
  userAgent?: string
  /** Is told of each HTTP request that has ended, e.g. for an audit. */
  onAttempt?(attempt: AttemptReport): void
  /** Is told what could not be read or written. */
  warn?(text: string): void
}

/**
 * @example
 * const router = await createModelRouter({ env: takeProviderVariables(process.env), clock: systemClock })
 * const model = router.resolve('claude-opus-4-8')
 * const stream = router.stream({ sessionId, model, context, options: { signal }, onOutcome })
 */
export async function createModelRouter(options: ModelRouterOptions): Promise<ModelRouter> {
  const { clock, random = systemRandom, state, warn = () => {} } = options
  const timeouts = { ...DEFAULT_TIMEOUTS, ...options.timeouts }
  const routes = await createRoutes({
    providers: options.providers ?? {},
    env: options.env,
    timeouts,
    ...(options.gateway === undefined ? {} : { gateway: options.gateway }),
    ...(options.logins === undefined ? {} : { logins: options.logins }),
    ...(options.models === undefined ? {} : options.models),
    takesUnknownIds: options.takesUnknownIds ?? false,
  })
  const redactor = createRedactor(secretsOf(routes))
  const { redact } = redactor
  const send: SendParts = {
    clock,
    redact,
    redactor,
    fetch: options.fetch ?? systemFetch,
    userAgent: options.userAgent ?? 'beige',
  }
  const numbers = fallbackNumbers(options.fallback ?? {})
  const disk = state?.disk ?? nodeDisk
  const fileIn = (name: string) => (state === undefined ? null : { path: join(state.directory, name), disk })

  const healthFile = fileIn(HEALTH_FILE)
  const health = await openProviderHealth({
    clock,
    warn,
    ...(healthFile === null ? {} : { file: healthFile }),
  })
  const accounts = createAccounts()
  const ledgerFile = fileIn(LEDGER_FILE)
  if (ledgerFile !== null && state?.isLedgerRead !== false) {
    const { skipped } = await readLedger(ledgerFile, accounts.count)
    if (skipped > 0) warn(`${ledgerFile.path}: ${skipped} torn or foreign lines are not counted`)
  }
  const ledger = ledgerFile === null ? null : openLedger(ledgerFile, warn)

  const meter: MeterParts = { clock, random, accounts, ledger, report: options.onAttempt ?? (() => {}) }
  const limiters = new Map(
    routes.endpoints().map(({ id, concurrency }) => [id, createLimiter(concurrency, clock)] as const),
  )
  const parts: AnswerParts = {
    clock,
    random,
    numbers,
    health,
    limiterOf: candidate => limiterOf(limiters, candidate),
    attempt: attempt => paidAttempt(send, meter, attempt, options.request ?? {}),
  }
  return routerFor(
    { routes, parts, health, ledger, limiters, runIds: createRunIds() },
    options.scope ?? EVERYBODY,
  )
}

type Shared = {
  routes: Routes
  parts: AnswerParts
  health: ProviderHealth
  ledger: Ledger | null
  limiters: ReadonlyMap<string, Limiter>
  runIds: RunIds
}

function routerFor(shared: Shared, given: RouterScope): ModelRouter {
  const { routes, parts, health, ledger, limiters, runIds } = shared
  const scope = createScope(routes, given, runIds)
  return {
    resolve: name => scope.check(routes.route(name).model),
    models: () => routes.endpoints().flatMap(endpoint => [...endpoint.models.values()]),
    stream(request) {
      const { message } = unsent(request, '', parts.clock.now(), 'unavailable')
      const out = createRequestStream(message, request.onNotice)
      // Never rejects.
      void answer(parts, scope, request, out).then(answered => out.end(tell(request, answered)))
      return out.stream
    },
    for: inner => routerFor(shared, narrowed(given, inner)),
    health: () => ({
      limiters: Object.fromEntries([...limiters].map(([id, limiter]) => [id, limiter.health()])),
      models: health.entries(),
      ledgerError: ledger?.error() ?? null,
    }),
    clearHealth: ({ provider, id }) => health.clear(provider, id),
    release: sessionId => cleanupSessionResources(sessionId),
    async close() {
      await health.close()
      await ledger?.close()
    },
  }
}

/** Loads the library of a model's wire ahead of its first request, e.g. while a session opens. */
export async function warmUp(model: Model<Api>): Promise<void> {
  await loadWire(wireOf(model))
}

type SendParts = { redact: Redact; redactor: Redactor; clock: Clock; fetch: Fetch; userAgent: string }

function paidAttempt(
  parts: SendParts,
  meter: MeterParts,
  attempt: Attempt,
  defaults: NonNullable<ModelRouterOptions['request']>,
): ReturnType<typeof metered> {
  const { candidate, scope, request, number, classOf, forward, release } = attempt
  const { model } = candidate.route
  const context =
    nameOf(model) === nameOf(request.model)
      ? request.context
      : (request.contextFor?.(model) ?? request.context)
  const { reasoning } = candidate
  const own = withinRun(meter, scope, candidate, {
    ...request,
    model,
    context,
    options: withDefaults(defaults, {
      ...request.options,
      ...(reasoning === undefined ? {} : { reasoning }),
    }),
  })
  const send = () => sent(parts, candidate, own, forward).finally(release)
  return metered(meter, scope, candidate, own, number, classOf, send)
}

function withDefaults(
  defaults: NonNullable<ModelRouterOptions['request']>,
  options: SimpleStreamOptions,
): SimpleStreamOptions {
  const { temperature, ...all } = { ...defaults, ...options }
  return temperature === undefined || all.reasoning !== undefined ? all : { ...all, temperature }
}

/** Never rejects. */
async function sent(
  parts: SendParts,
  candidate: Candidate,
  request: ModelRequest,
  forward: Attempt['forward'],
): Promise<AttemptEnd> {
  const { signal } = request.options
  let route: Route
  try {
    signal?.throwIfAborted()
    route = await opened(candidate.route, parts.redactor, signal)
  } catch (error) {
    return unsent(request, parts.redact(messageOf(error)), parts.clock.now(), 'no_route')
  }
  try {
    const wire = await loadWire(wireOf(route.model))
    return await runAttempt({ ...parts, route, request, wire }, forward)
  } catch (error) {
    // What a library throws instead of streaming, e.g. about a request that it can not build.
    return unsent(request, parts.redact(messageOf(error)), parts.clock.now(), 'stream')
  }
}

/** The route with the key that its login or command gives now. */
async function opened(route: Route, redactor: Redactor, signal: AbortSignal | undefined): Promise<Route> {
  const { endpoint, model } = route
  if (endpoint.credential === undefined) return route
  const { key, headers = {}, baseUrl } = await endpoint.credential.open(signal)
  redactor.add([...(key === null ? [] : [key]), ...secretHeaders(headers)])
  const now = { ...endpoint, key, headers: { ...endpoint.headers, ...headers } }
  if (baseUrl === undefined) return { endpoint: now, model }
  return { endpoint: { ...now, baseUrl }, model: { ...model, baseUrl } }
}

function limiterOf(limiters: ReadonlyMap<string, Limiter>, { route }: Candidate): Limiter {
  const limiter = limiters.get(route.endpoint.id)
  if (limiter === undefined) throw fail('no_route', { model: route.model.id, variable: 'its key' })
  return limiter
}

/** An outcome that its listener could not take in is no success. */
function tell(request: ModelRequest, { message, outcome }: Answer): Answer['message'] {
  try {
    request.onOutcome?.(outcome)
    return message
  } catch (error) {
    const errorMessage = `the outcome of the request could not be kept: ${messageOf(error)}`
    return { ...message, stopReason: 'error', errorMessage }
  }
}

function wireOf(model: Model<Api>): WireApi {
  const wire = WIRES.find(known => known === model.api)
  if (wire === undefined) throw fail('wrong_wire', { model: model.id, api: model.api })
  return wire
}

function secretsOf(routes: Routes): string[] {
  return routes
    .endpoints()
    .flatMap(({ key, aws = {}, headers }) => [
      ...(key === null ? [] : [key]),
      ...[aws.AWS_SECRET_ACCESS_KEY, aws.AWS_SESSION_TOKEN].filter(value => value !== undefined),
      ...secretHeaders(headers),
    ])
}

function secretHeaders(headers: Readonly<Record<string, string>>): string[] {
  return Object.entries(headers)
    .filter(([name]) => /auth|key|token|secret|cookie/i.test(name))
    .map(([, value]) => value)
}
