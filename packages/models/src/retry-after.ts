/** When the server wants to be asked again, in every form that vendors use. Pure; unclamped: cooldowns have their own. */

/** `source`: where it was stated. */
export type StatedRetry = { afterMs: number; source: 'header' | 'body' }

const MAX_WAIT_MS = 366 * 24 * 3_600_000 // beyond a year it is no time but a mistake
const MAX_SEARCHED_CHARS = 16_384

/**
 * One parser each, the first that finds something counts. Times are against the answer's own `date` where it has one,
 * else against `nowMs`. `utcOffset` (`+08:00`) is that of a vendor who writes times without a zone.
 */
export function statedRetry(
  headers: Readonly<Record<string, string>>,
  body: string,
  nowMs: number,
  utcOffset = 'Z',
): StatedRetry | null {
  const stated = Date.parse(headers.date ?? '')
  const now = Number.isNaN(stated) ? nowMs : stated
  const fromHeaders =
    number(headers['retry-after-ms']) ??
    secondsOrDate(headers['retry-after'], now) ??
    exhaustedWindow(headers, now)
  const ms = fromHeaders ?? fromBody(body.slice(0, MAX_SEARCHED_CHARS), now, utcOffset)
  if (ms === null || ms > MAX_WAIT_MS) return null
  return { afterMs: Math.max(0, Math.round(ms)), source: fromHeaders === null ? 'body' : 'header' }
}

function secondsOrDate(text: string | undefined, now: number): number | null {
  if (text === undefined) return null
  const seconds = number(text)
  if (seconds !== null) return seconds * 1000
  return dateMs(text, now)
}

/** The `*-reset` headers: only a window that is used up says when to come back; of several, the last. */
function exhaustedWindow(headers: Readonly<Record<string, string>>, now: number): number | null {
  const waits = Object.entries(headers).flatMap(([name, value]) => {
    if (!isExhausted(name, headers)) return []
    const ms = resetTime(value, now)
    return ms === null ? [] : [ms]
  })
  return waits.length === 0 ? null : Math.max(...waits)
}

function isExhausted(name: string, headers: Readonly<Record<string, string>>): boolean {
  if (!/ratelimit/.test(name)) return false
  // `anthropic-ratelimit-tokens-reset`, `x-ratelimit-reset-requests`, `x-ratelimit-reset`, `ratelimit-reset`
  if (name.endsWith('-unified-reset')) return headers[name.replace(/reset$/, 'status')] === 'rejected'
  if (!/-reset(-|$)/.test(name)) return false
  return number(headers[name.replace('-reset', '-remaining')] ?? headers[anthropicRemaining(name)]) === 0
}
function anthropicRemaining(name: string): string {
  return name.replace(/-reset$/, '-remaining')
}

/** RFC 3339, seconds or milliseconds since the epoch, seconds from now, or a duration like `6m0s`. */
function resetTime(text: string, now: number): number | null {
  const value = number(text)
  if (value !== null) {
    if (value > 1e12) return value - now
    return value > 1e9 ? value * 1000 - now : value * 1000
  }
  const span = durationMs(text)
  if (span !== null) return span
  return dateMs(text, now)
}

// Only what begins like an HTTP date or RFC 3339: the engine also makes a date of "-3".
function dateMs(text: string, now: number): number | null {
  const at = /^(?:[A-Z][a-z]{2,8}, |\d{4}-)/.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(at) ? null : at - now
}

const DURATION =
  /^(?:(\d+(?:\.\d+)?)d)?(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m)?(?:(\d+(?:\.\d+)?)s)?(?:(\d+(?:\.\d+)?)ms)?$/
const UNIT_MS = [86_400_000, 3_600_000, 60_000, 1000, 1]

function durationMs(text: string): number | null {
  const parts = DURATION.exec(text.trim().toLowerCase())?.slice(1)
  if (parts === undefined || parts.every(part => part === undefined)) return null
  return parts.reduce((sum, part, i) => sum + (part === undefined ? 0 : Number(part) * (UNIT_MS[i] ?? 0)), 0)
}

const SPAN = String.raw`((?:\d+(?:\.\d+)?\s?(?:ms|d|h|m|s))+)`
const RETRY_DELAY = new RegExp(String.raw`"retryDelay"\s*:\s*"${SPAN}"`)
const TRY_AGAIN = new RegExp(`(?:try again|retry) (?:in|after) ${SPAN}(?![a-z])`, 'i')
const TRY_AGAIN_SECONDS = /(?:try again|retry) (?:in|after) (\d+(?:\.\d+)?) ?(?:seconds?|secs?)\b/i

/** `metadata.headers` of OpenRouter: those of the provider behind it. */
const RESET_HEADER = /"x-ratelimit-reset"\s*:\s*"?([^",}\s]+)/i
const RESET_AT = /reset (?:at|on) (\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d)?) ?(Z|[+-]\d\d:?\d\d)?/i

function fromBody(body: string, now: number, utcOffset: string): number | null {
  const delay = RETRY_DELAY.exec(body)?.[1]
  if (delay !== undefined) return durationMs(delay)
  const inSeconds = number(/"resets_in_seconds"\s*:\s*"?(\d+(?:\.\d+)?)/.exec(body)?.[1])
  if (inSeconds !== null) return inSeconds * 1000
  const at = /"resets_at"\s*:\s*"?([^",}\s]+)/.exec(body)?.[1]
  if (at !== undefined) return resetTime(at, now)
  const header = RESET_HEADER.exec(body)?.[1]
  if (header !== undefined) return resetTime(header, now)
  const [, day, time, zone] = RESET_AT.exec(body) ?? []
  if (day !== undefined) return dateMs(`${day}T${time}${zone ?? utcOffset}`, now)
  const span = TRY_AGAIN.exec(body)?.[1]
  if (span !== undefined) return durationMs(span.replaceAll(/\s/g, ''))
  const seconds = number(TRY_AGAIN_SECONDS.exec(body)?.[1])
  return seconds === null ? null : seconds * 1000
}

function number(text: string | undefined): number | null {
  return text !== undefined && /^\s*\d+(?:\.\d+)?\s*$/.test(text) ? Number(text) : null
}
