/** Pays for one attempt: reserves before it, settles after it, and writes it into the ledger; each exactly once. */
import type { Clock, Random } from '@beige/protocol'
import { type AttemptEnd, unsent } from './attempt.ts'
import type { Accounts, Payers } from './budgets.ts'
import type { Classified } from './classify.ts'
import { fail } from './errors.ts'
import type { Ledger, LedgerLine } from './ledger.ts'
import type { AttemptReport, ModelRequest, RequestFailure } from './router.ts'
import type { Candidate, Scope } from './scope.ts'
import { affordableOutput, NO_USAGE, reservedUsage, type TokenUsage } from './usage.ts'

export type MeterParts = {
  clock: Clock
  random: Random
  accounts: Accounts
  ledger: Ledger | null
  report(attempt: AttemptReport): void
}

export type Metered = { end: AttemptEnd; classified: Classified }

/** The request with its answer no longer than what is left of the run's budget can pay. */
export function withinRun(
  { accounts }: MeterParts,
  scope: Scope,
  { route }: Candidate,
  request: ModelRequest,
): ModelRequest {
  const room = accounts.roomOfRun(scope.budgets, scope.payers(request))
  const maxTokens =
    room === null ? null : affordableOutput(route.model, request.context, request.options, room)
  return maxTokens === null ? request : { ...request, options: { ...request.options, maxTokens } }
}

/** `send` makes the one HTTP request. */
export async function metered(
  parts: MeterParts,
  scope: Scope,
  candidate: Candidate,
  request: ModelRequest,
  number: number,
  classOf: (failure: RequestFailure) => Classified,
  send: () => Promise<AttemptEnd>,
): Promise<Metered> {
  const { clock, accounts, ledger } = parts
  const startedAt = clock.now()
  const started = clock.monotonic()
  const payers = scope.payers(request)
  const { model } = candidate.route
  const most = reservedUsage(model, request.context, request.options)
  const report = (
    end: AttemptReport['class'],
    { outcome, status }: AttemptEnd,
    usage: TokenUsage,
    alarm: string | null,
  ) =>
    parts.report({
      scope: scope.given,
      sessionId: request.sessionId,
      model: { provider: candidate.target.provider, id: candidate.target.id },
      attempt: number,
      class: end,
      status,
      message: outcome.state === 'failed' ? outcome.failure.message : null,
      alarm,
      usage,
      durationMs: Math.round(clock.monotonic() - started),
    })
  const reserved = accounts.reserve(scope.budgets, payers, most, startedAt)
  if ('breach' in reserved) {
    const { retryAtMs: _at, ...breach } = reserved.breach
    const needed = breach.limit.includes('$')
      ? `$${(most.nanoUsd / 1e9).toFixed(4)}`
      : `${most.tokens} tokens`
    const end = unsent(
      { model, options: request.options },
      fail('budget', { ...breach, needed }),
      startedAt,
      'budget',
    )
    report('budget', end, NO_USAGE, null)
    return { end, classified: { class: 'budget', cooldown: null, waitMs: null, alarm: null } }
  }
  let usage: TokenUsage | null = null
  try {
    const end = await send()
    usage = end.usage
    const classified = end.outcome.state === 'failed' ? classOf(end.outcome.failure) : NOTHING_WRONG
    reserved.reservation.settle(usage)
    if (end.isSent) {
      const name = end.outcome.state === 'failed' ? classified.class : end.outcome.state
      await ledger?.append(lineOf(parts, payers, candidate, name, usage, startedAt))
      report(name, end, usage, classified.alarm)
    }
    return { end, classified }
  } finally {
    // Where `send` broke its promise not to throw, what was reserved is given back.
    reserved.reservation.settle(usage ?? NO_USAGE)
  }
}

const NOTHING_WRONG: Classified = { class: 'transient', cooldown: null, waitMs: null, alarm: null }

function lineOf(
  { random }: MeterParts,
  payers: Payers,
  { target }: Candidate,
  end: string,
  usage: TokenUsage,
  startedAt: number,
): LedgerLine {
  const { session = '', run: _run, ...others } = payers
  return {
    v: 1,
    id: `q_${Buffer.from(random.bytes(9)).toString('hex')}`,
    ts: new Date(startedAt).toISOString(),
    provider: target.provider,
    model: target.id,
    session,
    ...others,
    end,
    input: usage.input,
    output: usage.output,
    cacheRead: usage.cacheRead,
    cacheWrite: usage.cacheWrite,
    ...(usage.cacheWrite1h === 0 ? {} : { cacheWrite1h: usage.cacheWrite1h }),
    ...(usage.reasoning === 0 ? {} : { reasoning: usage.reasoning }),
    costNanoUsd: usage.costNanoUsd,
    ...(usage.isEstimated ? { estimated: true as const } : {}),
  }
}
