/**
 * Tells failures apart, after the table of design page "Gateway": the vendor's code or known message first, then the
 * status, then text. Pure: the same failure is the same class for every caller.
 */
import type { AssistantMessage } from '@earendil-works/pi-ai'
import { isContextOverflow } from '@earendil-works/pi-ai/utils/overflow'
import { isObject, parse } from './json.ts'
import { BAD_HISTORY, CERTIFICATE, CODES, NO_CREDIT, STREAM_CODES, VENDOR_CODES } from './known-errors.ts'
import type { RequestFailure } from './router.ts'

export const FAILURE_CLASSES = [
  'rate_limit',
  'quota',
  'overloaded',
  'transient',
  'context_too_long',
  'auth',
  'model_missing',
  'invalid_request',
  'refused',
  'aborted',
  'budget',
] as const
export type FailureClass = (typeof FAILURE_CLASSES)[number]

export type Cooldown = {
  /** `provider`: all of its models, since the limit is the account's. */
  scope: 'model' | 'provider'
  ms: number
  /** As stated, however long; for showing. */
  statedMs: number | null
  /** The vendor said 429, not only words. */
  hard: boolean
  source: 'header' | 'body' | 'default'
}

export type Classified = {
  class: FailureClass
  cooldown: Cooldown | null
  /** A stated wait of an overload, to be waited in this run alone. */
  waitMs: number | null
  /** Something that only our own mistake can cause. */
  alarm: string | null
}

export type CooldownNumbers = { hardCooldownMs: number; softCooldownMs: number; maxCooldownMs: number }
export const MIN_COOLDOWN_MS = 1000
export const MAX_OVERLOAD_WAIT_MS = 30_000
export const DEFAULT_COOLDOWNS: CooldownNumbers = {
  hardCooldownMs: 300_000,
  softCooldownMs: 60_000,
  maxCooldownMs: 21_600_000,
}

/** `vendor`: the id of the provider, whose own codes are known where it has a row. */
export function classify(
  failure: RequestFailure,
  vendor: string,
  numbers: CooldownNumbers = DEFAULT_COOLDOWNS,
): Classified {
  const facts = factsOf(failure)
  const found = classOf(failure, facts, vendor)
  return {
    class: found,
    cooldown: cooldownOf(found, failure, facts.status === 429, numbers),
    waitMs: found === 'overloaded' ? waitOf(failure) : null,
    alarm:
      found === 'invalid_request' && BAD_HISTORY.test(failure.message) ? 'our history was refused' : null,
  }
}

/** `status`: of HTTP, or what the error in a stream says it would have been. */
type Facts = { status: number | null; codes: readonly string[]; flagged: boolean }

function classOf(failure: RequestFailure, { status, codes, flagged }: Facts, vendor: string): FailureClass {
  switch (failure.cause) {
    case 'refused':
      return 'refused'
    case 'budget':
      return 'budget'
    case 'no_route':
    case 'unavailable':
      return 'model_missing'
    case 'idle':
    case 'cut':
      return 'transient'
    case 'network':
      return failure.code !== null && CERTIFICATE.test(failure.code) ? 'invalid_request' : 'transient'
    case 'http':
    case 'stream':
      break
    default:
      failure.cause satisfies never
  }
  // What the library could not even send.
  if (failure.status === null) return 'invalid_request'
  const own = VENDOR_CODES[vendor]
  for (const code of codes) if (own?.[code] !== undefined) return own[code]
  if (status === 413 || overflows(failure, status)) return 'context_too_long'
  if (NO_CREDIT.test(failure.message)) return 'quota'
  if (status === 429 && failure.headers['anthropic-ratelimit-unified-status'] === 'rejected') return 'quota'
  if (flagged) return 'refused'
  const coded = among(CODES, codes)
  if (coded !== null) return coded
  if (status !== null && (status < 200 || status > 299)) return byStatus(status)
  const streamed = among(STREAM_CODES, codes)
  if (streamed !== null) return streamed
  // An answer that is no stream and no error either: a page of something that stands between.
  if (failure.cause === 'http' && codes.length === 0) return 'invalid_request'
  return byText(failure.message)
}

function byStatus(status: number): FailureClass {
  switch (status) {
    case 401:
    case 403:
      return 'auth'
    case 402:
      return 'quota'
    case 404:
    case 410:
      return 'model_missing'
    case 408:
    case 409:
    case 424:
    case 425:
      return 'transient'
    case 429:
      return 'rate_limit'
    case 498:
    case 503:
    case 529:
      return 'overloaded'
    default:
      return status >= 500 ? 'transient' : 'invalid_request'
  }
}

/** Only of an error event in a stream: beside a status of its own, words are not believed. */
function byText(text: string): FailureClass {
  if (/rate.?limit|too many requests|slow.?down/i.test(text)) return 'rate_limit'
  if (/overloaded|capacity|temporarily unavailable/i.test(text)) return 'overloaded'
  return 'transient'
}

function among(
  table: readonly (readonly [FailureClass, readonly string[]])[],
  codes: readonly string[],
): FailureClass | null {
  return table.find(([, known]) => codes.some(code => known.includes(code)))?.[0] ?? null
}

/** pi-ai keeps the list of what vendors say; a limit per minute also speaks of too many tokens, so not beside a 429. */
function overflows(failure: RequestFailure, status: number | null): boolean {
  const isAboutTheRequest = status === 400 || status === 422 || (status !== null && status < 300)
  if (!isAboutTheRequest) return false
  const message: AssistantMessage = {
    role: 'assistant',
    content: [],
    api: '',
    provider: '',
    model: '',
    usage: {
      input: 0,
      output: 0,
      cacheRead: 0,
      cacheWrite: 0,
      totalTokens: 0,
      cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
    },
    stopReason: 'error',
    errorMessage: failure.message,
    timestamp: 0,
  }
  return isContextOverflow(message) || /input is too long/i.test(failure.message)
}

function cooldownOf(
  found: FailureClass,
  failure: RequestFailure,
  hard: boolean,
  numbers: CooldownNumbers,
): Cooldown | null {
  if (found !== 'rate_limit' && found !== 'quota') return null
  const statedMs = failure.retryAfterMs
  const ms = statedMs ?? (hard ? numbers.hardCooldownMs : numbers.softCooldownMs)
  return {
    scope: found === 'quota' ? 'provider' : 'model',
    ms: Math.min(Math.max(ms, MIN_COOLDOWN_MS), numbers.maxCooldownMs),
    statedMs,
    hard,
    source: failure.retrySource ?? 'default',
  }
}

function waitOf({ retryAfterMs }: RequestFailure): number | null {
  return retryAfterMs !== null && retryAfterMs <= MAX_OVERLOAD_WAIT_MS ? retryAfterMs : null
}

function factsOf(failure: RequestFailure): Facts {
  const parsed = parse(failure.body)
  const data = Array.isArray(parsed) ? parsed[0] : parsed
  const places = isObject(data) ? placesOf(data) : []
  const said = places.flatMap(place => [place.status_code, place.code, place.status]).map(Number)
  const isOk = failure.status !== null && failure.status >= 200 && failure.status < 300
  const inBody = said.find(number => Number.isInteger(number) && number >= 400 && number <= 599)
  const header = failure.headers['x-amzn-errortype'] ?? ''
  return {
    status: isOk ? (inBody ?? failure.status) : failure.status,
    codes: [...places.flatMap(codesOf), shortName(header)].filter(code => code !== ''),
    flagged: places.some(place => place.flagged_input !== undefined),
  }
}

type Place = Readonly<Record<string, unknown>>

/** Where vendors put a code: at the top, in `error`, in the response that failed, and one level below these. */
function placesOf(data: Place): readonly Place[] {
  const response = isObject(data.response) ? data.response : {}
  const tops = [data, data.error, response.error].filter(isObject)
  const below = tops.flatMap(top => [
    top.innererror,
    top.metadata,
    ...(Array.isArray(top.details) ? top.details : []),
  ])
  return [...tops, ...below.filter(isObject)]
}

function codesOf(place: Place): string[] {
  const exception = Object.keys(place).find(key => key.endsWith('Exception'))
  return [place.code, place.type, place.status, place.reason, place.__type, exception].flatMap(value =>
    typeof value === 'string' || typeof value === 'number' ? [shortName(String(value))] : [],
  )
}

/** `com.amazon#ThrottlingException:http://…` is `throttlingexception`. */
function shortName(code: string): string {
  return (code.split('#').at(-1)?.split(':')[0] ?? '').trim().toLowerCase()
}
