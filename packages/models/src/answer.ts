/**
 * Answers one request: candidates in order, in passes, one attempt at a time, until one has answered or nobody is left
 * (design page "Gateway", "Model router"). An attempt is over and closed before the next begins (H41).
 */
import { type Clock, isError, messageOf, type Random } from '@beige/protocol'
import type { AssistantMessage, AssistantMessageEvent } from '@earendil-works/pi-ai'
import { type AttemptEnd, unsent } from './attempt.ts'
import { type Classified, classify, type FailureClass } from './classify.ts'
import { fail } from './errors.ts'
import type { FallbackNumbers } from './fallback-numbers.ts'
import type { Limiter } from './limiter.ts'
import type { Metered } from './meter.ts'
import type { ProviderHealth } from './provider-health.ts'
import type { RequestStream } from './request-stream.ts'
import type { ModelRequest, RequestFailure, RequestOutcome, SwitchReason, Tried } from './router.ts'
import { nameOf, newRoutingRun, type RoutingRun } from './routing-run.ts'
import type { Candidate, Scope } from './scope.ts'

export type AnswerParts = {
  clock: Clock
  random: Random
  numbers: FallbackNumbers
  health: ProviderHealth
  limiterOf(candidate: Candidate): Limiter
  /** One HTTP request, paid for and written down. */
  attempt(attempt: Attempt): Promise<Metered>
}

export type Attempt = {
  candidate: Candidate
  scope: Scope
  request: ModelRequest
  /** From 1. */
  number: number
  classOf(failure: RequestFailure): Classified
  forward(event: AssistantMessageEvent): void
  /** Called when the answer has ended: what is left to do needs no slot. */
  release(): void
}

export type Answer = { message: AssistantMessage; outcome: RequestOutcome }

export async function answer(
  parts: AnswerParts,
  scope: Scope,
  request: ModelRequest,
  out: RequestStream,
): Promise<Answer> {
  const run = request.run ?? newRoutingRun()
  try {
    const candidates = scope.candidates(request, run)
    return await inPasses(parts, {
      scope,
      request,
      run,
      candidates,
      out,
      tried: new Map(),
      attempts: 0,
      last: null,
      renewed: new Set(),
    })
  } catch (error) {
    const isRouting = isError(error, 'no_route', 'not_allowed', 'no_price')
    const end = unsent(request, error, parts.clock.now(), isRouting ? 'no_route' : 'unavailable')
    return failedBy(end, isRouting ? 'model_missing' : 'transient', [], null)
  }
}

type Progress = {
  scope: Scope
  request: ModelRequest
  run: RoutingRun
  candidates: readonly Candidate[]
  out: RequestStream
  tried: Map<string, Failed>
  attempts: number
  last: { end: AttemptEnd; class: FailureClass } | null
  /** Names whose login was renewed for this request; once is enough. */
  renewed: Set<string>
}
type Failed = { class: FailureClass; cause: RequestFailure['cause']; attempts: number; message: string }

async function inPasses(parts: AnswerParts, progress: Progress): Promise<Answer> {
  const { numbers } = parts
  const { candidates } = progress
  for (let pass = 1; pass <= numbers.passes; pass++) {
    if (!(await mayBegin(parts, progress, pass))) break
    for (const candidate of candidates) {
      if (progress.attempts >= numbers.maxAttempts) break
      if (!isEligible(parts, progress, candidate)) continue
      const ended = await tryOne(parts, progress, candidate)
      if (ended !== null) return ended
    }
  }
  return nobodyLeft(parts, progress)
}

/** Waits as long as a pass has to; false when it would have nobody to ask. */
async function mayBegin(parts: AnswerParts, progress: Progress, pass: number): Promise<boolean> {
  const { clock, numbers } = parts
  const { candidates, request } = progress
  if (progress.attempts >= numbers.maxAttempts) return false
  const { signal } = request.options
  if (candidates.some(candidate => isEligible(parts, progress, candidate))) {
    if (pass > 1) await clock.sleep(backoffMs(parts, pass), signal)
    return true
  }
  const waits = candidates
    .filter(candidate => !isOut(parts, progress, candidate))
    .flatMap(candidate => {
      const admission = parts.health.admit(candidate.target)
      return admission.state === 'cooling' ? [admission.untilMs - clock.now()] : []
    })
  const waitMs = Math.min(...waits)
  if (waitMs > numbers.cooldownWaitMs) return false
  await clock.sleep(waitMs, signal)
  return true
}

function backoffMs({ numbers, random }: AnswerParts, pass: number): number {
  const [a = 0, b = 0] = random.bytes(2)
  const share = (a * 256 + b) / 65_536
  return share * Math.min(numbers.backoffMs * 2 ** (pass - 2), numbers.backoffMaxMs)
}

function isOut({ numbers }: AnswerParts, { run }: Progress, { name, target }: Candidate): boolean {
  if (run.out.has(name) || run.out.has(`${target.provider}/*`)) return true
  return (run.strikes.get(name) ?? 0) >= numbers.failuresPerModel
}

function isEligible(parts: AnswerParts, progress: Progress, candidate: Candidate): boolean {
  if (isOut(parts, progress, candidate)) return false
  const { state } = parts.health.admit(candidate.target)
  if (state !== 'probing') return state === 'open'
  // One tries whether it is well again; the others wait for that only where they have nobody else.
  return !progress.candidates.some(
    other =>
      other !== candidate &&
      !isOut(parts, progress, other) &&
      parts.health.admit(other.target).state === 'open',
  )
}

/** Null: it did not answer, and another may be asked. */
async function tryOne(parts: AnswerParts, progress: Progress, candidate: Candidate): Promise<Answer | null> {
  const { clock, health } = parts
  const { request, run, out } = progress
  const { signal } = request.options
  const { name, target } = candidate
  const waitMs = (run.notBefore.get(name) ?? 0) - clock.monotonic()
  if (waitMs > 0) await clock.sleep(waitMs, signal)
  const release = await parts
    .limiterOf(candidate)
    .acquire(signal, position => out.tell({ type: 'waiting', provider: target.provider, position }))
  let metered: Metered
  let hasStreamed = false
  try {
    signal?.throwIfAborted()
    // Others may have run into a limit while this one waited.
    if (!isEligible(parts, progress, candidate)) return null
    health.begin(target)
    progress.attempts++
    // A start without anything behind it would only have to be withdrawn.
    let start: AssistantMessageEvent | null = null
    const forward = (event: AssistantMessageEvent): void => {
      if (event.type === 'start') {
        start = event
        return
      }
      if (start !== null) out.push(start)
      start = null
      hasStreamed = true
      out.push(event)
    }
    const classOf = (failure: RequestFailure): Classified => classify(failure, target.provider, parts.numbers)
    const { scope, attempts } = progress
    metered = await parts.attempt({ candidate, scope, request, number: attempts, classOf, forward, release })
  } finally {
    release()
  }
  const { end, classified } = metered
  if (end.outcome.state === 'done') return done(parts, progress, candidate, end)
  if (end.outcome.state === 'aborted') {
    await health.end(target, null)
    return { message: end.message, outcome: end.outcome }
  }
  const { failure } = end.outcome
  await health.end(target, verdict(failure, classified))
  progress.last = { end, class: classified.class }
  const failures = (progress.tried.get(name)?.attempts ?? 0) + (end.isSent ? 1 : 0)
  progress.tried.set(name, {
    class: classified.class,
    cause: failure.cause,
    attempts: failures,
    message: failure.message,
  })
  if (classified.class === 'auth' && (await isRenewed(progress, candidate)))
    return tryOne(parts, progress, candidate)
  if (isFinal(classified.class)) return failedBy(end, classified.class, triedOf(parts, progress), null)
  strike(run, candidate, classified, clock.monotonic())
  if (hasStreamed && request.isPartialKept === true)
    return failedBy(end, classified.class, triedOf(parts, progress), null)
  if (hasStreamed) out.tell({ type: 'discarded', reason: failure.message, attempt: progress.attempts })
  return null
}

/** A login's token may have been revoked before its time: it is refreshed once, then the vendor's word counts. */
async function isRenewed({ renewed, request }: Progress, { name, route }: Candidate): Promise<boolean> {
  const { credential } = route.endpoint
  if (credential?.renew === undefined || renewed.has(name)) return false
  renewed.add(name)
  return credential.renew(request.options.signal)
}

/** An answer, something that another model can not mend, or ours. */
function isFinal(found: FailureClass): boolean {
  return found === 'refused' || found === 'context_too_long' || found === 'budget'
}

function verdict(
  failure: RequestFailure,
  classified: Classified,
): 'ok' | { failure: RequestFailure; classified: Classified } | null {
  switch (classified.class) {
    case 'rate_limit':
    case 'quota':
    case 'overloaded':
    case 'transient':
    case 'auth':
      return { failure, classified }
    case 'refused':
    case 'context_too_long':
      return 'ok'
    case 'model_missing':
    case 'invalid_request':
    case 'aborted':
    case 'budget':
      return null
    default:
      return classified.class satisfies never
  }
}

function strike(run: RoutingRun, { name, target }: Candidate, classified: Classified, nowMs: number): void {
  run.strikes.set(name, (run.strikes.get(name) ?? 0) + 1)
  if (classified.class === 'auth') run.out.add(`${target.provider}/*`)
  if (classified.class === 'model_missing' || classified.class === 'invalid_request') run.out.add(name)
  if (classified.waitMs !== null) run.notBefore.set(name, nowMs + classified.waitMs)
}

async function done(
  parts: AnswerParts,
  progress: Progress,
  { name, target }: Candidate,
  end: AttemptEnd,
): Promise<Answer> {
  const { run, request, out } = progress
  const from = run.answeredLast ?? nameOf(request.model)
  await parts.health.end(target, 'ok')
  run.strikes.delete(name)
  run.notBefore.delete(name)
  run.startAt = name
  run.answeredLast = name
  const reason = from === name ? null : switchReason(progress, from, name)
  if (reason !== null) out.tell({ type: 'model_switched', from, to: name, reason })
  return {
    message: end.message,
    outcome: { state: 'done', model: { provider: target.provider, id: target.id } },
  }
}

/** Null when nobody fell back: another model was chosen. */
function switchReason(progress: Progress, from: string, to: string): SwitchReason | null {
  const chosen = nameOf(progress.request.model)
  if (to === chosen) return progress.candidates.some(one => one.name === from) ? 'recovered' : null
  // Whoever should have answered is the one whose failure counts.
  const failed = progress.tried.get(from) ?? progress.tried.get(chosen)
  if (failed === undefined || failed.class === 'rate_limit' || failed.class === 'quota')
    return 'fallback_rate_limit'
  return failed.cause === 'idle' ? 'fallback_timeout' : 'fallback_error'
}

function triedOf({ health }: AnswerParts, { candidates, tried }: Progress): Tried[] {
  return candidates.flatMap(({ name, target }) => {
    const admission = health.admit(target)
    const cooling = admission.state === 'cooling' ? admission : null
    const failed = tried.get(name)
    if (failed === undefined && cooling === null) return []
    return [
      {
        provider: target.provider,
        id: target.id,
        class: failed?.class ?? cooling?.class ?? 'transient',
        attempts: failed?.attempts ?? 0,
        message: failed?.message ?? 'cooling down',
        retryAtMs: cooling?.untilMs ?? null,
      },
    ]
  })
}

function nobodyLeft(parts: AnswerParts, progress: Progress): Answer {
  const { last, request, candidates } = progress
  const tried = triedOf(parts, progress)
  const times = tried.flatMap(({ retryAtMs }) => (retryAtMs === null ? [] : [retryAtMs]))
  const retryAtMs = times.length === 0 ? null : Math.min(...times)
  // Of a single model its own words say it best.
  if (last !== null && candidates.length === 1) return failedBy(last.end, last.class, tried, retryAtMs)
  const list = tried
    .map(one => `${nameOf(one)} ${one.class}${until(one.retryAtMs)}: ${one.message}`)
    .join('; ')
  const error = fail('all_models_unavailable', {
    tried: list === '' ? 'none may be asked in this run' : list,
  })
  const end = last?.end ?? unsent(request, error, parts.clock.now(), 'unavailable')
  return failedBy(end, last?.class ?? tried[0]?.class ?? 'transient', tried, retryAtMs, messageOf(error))
}

function until(ms: number | null): string {
  return ms === null ? '' : ` until ${new Date(ms).toISOString().slice(0, 19)}Z`
}

function failedBy(
  end: AttemptEnd,
  found: FailureClass,
  tried: readonly Tried[],
  retryAtMs: number | null,
  text?: string,
): Answer {
  if (end.outcome.state !== 'failed') return { message: end.message, outcome: { state: 'aborted' } }
  const { failure } = end.outcome
  const message = text ?? failure.message
  const cause = found === 'refused' ? 'refused' : failure.cause
  return {
    message: { ...end.message, stopReason: 'error', errorMessage: message },
    outcome: { state: 'failed', failure: { ...failure, cause, message }, class: found, tried, retryAtMs },
  }
}
