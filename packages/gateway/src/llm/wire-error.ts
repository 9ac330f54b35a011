/** Turns what went wrong into what every wire can say: a status, a code, words without a key in them. */
import type { FailureClass, RequestOutcome } from '@beige/models'
import { BeigeError } from '@beige/protocol'
import type { Redactor } from '../audit/redactor.ts'
import { statusOf } from '../http/answers.ts'
import type { WireError } from './wire.ts'

type Failed = Extract<RequestOutcome, { state: 'failed' }>

/** A wrong key of ours is no fault of the client, so `auth` is not 401. */
const STATUS: Readonly<Record<FailureClass, number>> = {
  rate_limit: 429,
  quota: 429,
  overloaded: 503,
  transient: 502,
  context_too_long: 400,
  auth: 502,
  model_missing: 404,
  invalid_request: 400,
  refused: 400,
  aborted: 499,
  budget: 402,
}

export function errorOfOutcome(outcome: Failed, redact: Redactor): WireError {
  const { failure } = outcome
  const isRouting = failure.cause === 'no_route'
  return {
    status: isRouting ? 403 : STATUS[outcome.class],
    code: isRouting ? 'model_denied' : outcome.class,
    message: redact(failure.message),
    retryAtMs: outcome.retryAtMs,
    retryable: ['rate_limit', 'quota', 'overloaded', 'transient'].includes(outcome.class),
  }
}

export function errorOfThrown(error: unknown, redact: Redactor, nowMs: number): WireError {
  if (!(error instanceof BeigeError))
    return {
      status: 500,
      code: 'internal',
      message: 'something inside failed; see logs/error.log',
      retryAtMs: null,
      retryable: false,
    }
  const waitS = error.data.retryAfterSeconds
  return {
    status: statusOf(error),
    code: error.code,
    message: redact(error.message),
    retryAtMs: typeof waitS === 'number' ? nowMs + waitS * 1000 : null,
    retryable: error.retryable,
  }
}
