/** Why a request failed, from what the transport saw; the library's own text is only the last resort. */
import { messageOf } from '@beige/protocol'
import { isObject, parse } from './json.ts'
import type { Redact } from './redactor.ts'
import { statedRetry } from './retry-after.ts'
import type { RequestFailure } from './router.ts'
import type { Exchange } from './transport.ts'

const MAX_BODY_CHARS = 8192
const MAX_MESSAGE_CHARS = 1000
const MAX_CAUSES = 5

/** What a failed attempt left behind. */
export type Evidence = {
  exchange: Exchange
  /** Which watchdog ended it, with its words; null when none did. */
  silence: string | null
  /** What the library said. */
  libraryMessage: string
  /** The vendor's stop reason, as far as one came. */
  stopReason: string | null
}

export function failureOf(
  evidence: Evidence,
  redact: Redact,
  nowMs: number,
  utcOffset?: string,
): RequestFailure {
  const { exchange } = evidence
  const found = causeOf(evidence)
  const body = redact(found.body).slice(0, MAX_BODY_CHARS)
  const headers = Object.fromEntries(
    Object.entries(exchange.headers).map(([name, value]) => [name, redact(value)]),
  )
  // A header of an answer that then streamed says nothing about the failure of the stream.
  const about = found.cause === 'http' ? headers : { date: headers.date ?? '' }
  const stated = statedRetry(about, body, nowMs, utcOffset)
  return {
    cause: found.cause,
    status: exchange.status,
    headers,
    body,
    code: found.code ?? null,
    retryAfterMs: stated?.afterMs ?? null,
    retrySource: stated?.source ?? null,
    message: redact(found.message).slice(0, MAX_MESSAGE_CHARS),
  }
}

type Found = { cause: RequestFailure['cause']; body: string; message: string; code?: string }

function causeOf({ exchange, silence, libraryMessage, stopReason }: Evidence): Found {
  const { status } = exchange
  if (silence !== null) return { cause: 'idle', body: '', message: silence }
  if (exchange.networkError !== null)
    return { ...brokenConnection(exchange.networkError, 'network'), body: '' }
  if (status === null) return { cause: 'stream', body: '', message: libraryMessage }
  const head = exchange.body.head()
  const tail = exchange.body.tail()
  if (status < 200 || status > 299 || !isEventStream(exchange, tail))
    return { cause: 'http', body: head, message: saidIn(head) ?? `HTTP ${status}: ${libraryMessage}` }
  const error = errorFrame(tail)
  if (error !== null) return { cause: 'stream', body: error, message: saidIn(error) ?? libraryMessage }
  if (stopReason !== null && REFUSALS.test(stopReason))
    return { cause: 'refused', body: '', message: libraryMessage }
  const blocked = BLOCKED_PROMPT.exec(tail)?.[1]
  if (blocked !== undefined)
    return { cause: 'refused', body: '', message: `the prompt was blocked: ${blocked}` }
  if (exchange.bodyError !== null) return { ...brokenConnection(exchange.bodyError, 'cut'), body: '' }
  if (exchange.ended && !LAST_EVENT.test(tail))
    return { cause: 'cut', body: '', message: `the answer ended before its last event: ${libraryMessage}` }
  return { cause: 'stream', body: '', message: libraryMessage }
}

const REFUSALS = /refusal|content_filter|sensitive|SAFETY|PROHIBITED_CONTENT|BLOCKLIST|SPII/
const BLOCKED_PROMPT = /"blockReason"\s*:\s*"([A-Z_]{1,40})"/ // Google says so instead of an answer
const LAST_EVENT =
  /message_stop|messageStop|\[DONE\]|"response\.(?:completed|incomplete|failed)"|"finish_?[rR]eason"\s*:\s*"/

// A page of a proxy comes with status 200 too; some servers forget the type of a true stream.
function isEventStream(exchange: Exchange, tail: string): boolean {
  return /event-?stream/.test(exchange.headers['content-type'] ?? '') || /^data:/m.test(tail)
}

/** Node's own limits on silence are silence too, whichever clock was faster. */
function brokenConnection(error: unknown, cause: 'network' | 'cut'): Omit<Found, 'body'> {
  const deepest = deepestCause(error)
  const code = codeOf(deepest)
  if (code === 'UND_ERR_BODY_TIMEOUT' || code === 'UND_ERR_HEADERS_TIMEOUT')
    return { cause: 'idle', message: messageOf(deepest) }
  const text = messageOf(deepest) || messageOf(error)
  return {
    cause,
    ...(code === '' ? {} : { code }),
    message: code === '' || text.includes(code) ? text : `${text} (${code})`,
  }
}

function deepestCause(error: unknown): unknown {
  let current = error
  for (let depth = 0; depth < MAX_CAUSES; depth++) {
    if (!(current instanceof Error)) return current
    // Several addresses were tried: the first failure stands for all.
    const next = current instanceof AggregateError ? current.errors[0] : current.cause
    if (next === undefined) return current
    current = next
  }
  return current
}
function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : ''
  return typeof code === 'string' ? code : ''
}

/** A library may pass over an error that comes behind the end of the text. */
export function hasErrorFrame(exchange: Exchange): boolean {
  return errorFrame(exchange.body.tail()) !== null
}

/** The vendor's error among the last events of a stream, as JSON text. */
function errorFrame(tail: string): string | null {
  const lines = tail.split(/\r\n|\n|\r/).filter(line => line.startsWith('data:'))
  for (const line of lines.toReversed()) {
    const data = line.slice(5).trim()
    if (/error|exception/i.test(data) && isErrorFrame(parse(data))) return data
  }
  const [, type, payload = ''] = BINARY_EXCEPTION.exec(tail) ?? []
  const said = parse(payload)
  return type === undefined || !isObject(said) ? null : JSON.stringify({ error: { type, ...said } })
}

// Of Amazon's event stream: the header's name, three bytes of its form, its value; further on the payload.
const BINARY_EXCEPTION = /:exception-type[\s\S]{3}([A-Za-z_]+)[\s\S]{0,200}?(\{[^{}]{0,4000}\})/

function isErrorFrame(data: unknown): boolean {
  if (!isObject(data)) return false
  if (data.type === 'error' || data.type === 'response.failed') return true
  // Bedrock names the frame by its exception.
  if (Object.keys(data).some(key => key.endsWith('Exception'))) return true
  return isObject(data.error) || (typeof data.error === 'string' && data.error !== '')
}

/** The text in an error's JSON, wherever the vendor puts it. */
function saidIn(json: string): string | null {
  const parsed = parse(json)
  const data = Array.isArray(parsed) ? parsed[0] : parsed
  if (!isObject(data)) return null
  const response = isObject(data.response) ? data.response : {}
  const exception = Object.entries(data).find(([key]) => key.endsWith('Exception'))?.[1]
  for (const place of [data.error, response.error, exception, data]) {
    if (typeof place === 'string') return place
    if (isObject(place) && typeof place.message === 'string') return place.message
  }
  return null
}
