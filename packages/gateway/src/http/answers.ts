/** What goes back: JSON with fixed headers, and errors as a code and words, never a stack, a path or a key. */
import type { ServerResponse } from 'node:http'
import { BeigeError } from '@beige/protocol'

const HEADERS = { 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' } as const

export function answerJson(
  response: ServerResponse,
  status: number,
  value: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  if (response.headersSent || response.destroyed) return
  const body = Buffer.from(`${JSON.stringify(value)}\n`)
  response.writeHead(status, {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': body.length,
    ...HEADERS,
    ...headers,
  })
  response.end(body)
}

/** Begins an NDJSON answer; call the result for each line. */
export function answerLines(response: ServerResponse): (value: unknown) => void {
  response.writeHead(200, { 'Content-Type': 'application/x-ndjson; charset=utf-8', ...HEADERS })
  response.flushHeaders()
  return value => {
    if (!response.destroyed) response.write(`${JSON.stringify(value)}\n`)
  }
}

/** Of an error of ours over HTTP. */
export function statusOf(error: BeigeError): number {
  return STATUS[error.code] ?? 500
}

const STATUS: Readonly<Record<string, number>> = {
  bad_request: 400,
  unauthorized: 401,
  forbidden: 403,
  bad_host: 403,
  bad_origin: 403,
  not_found: 404,
  unknown_agent: 404,
  model_denied: 403,
  not_allowed: 403,
  no_price: 403,
  unknown_model: 404,
  no_route: 404,
  not_offered: 404,
  ambiguous_model: 400,
  bad_method: 405,
  body_timeout: 408,
  busy: 409,
  conflict: 409,
  body_too_large: 413,
  bad_content_type: 415,
  restart_refused: 422,
  rate_limited: 429,
  unavailable: 503,
  closing: 503,
  agent_unavailable: 503,
  session_busy: 503,
  storage: 503,
}

export function errorBody(error: BeigeError): { error: Record<string, unknown> } {
  return { error: { code: error.code, message: error.message, advice: error.advice } }
}

/** Anything thrown; what is not ours is `internal` and said to the log alone. */
export function answerError(response: ServerResponse, error: unknown): void {
  if (!(error instanceof BeigeError)) {
    answerJson(response, 500, {
      error: { code: 'internal', message: 'something inside failed; see logs/error.log' },
    })
    return
  }
  const status = statusOf(error)
  // With 413 the reader of the body closes, a little later: closed at once, the answer would be lost with what still comes.
  const headers: Record<string, string> = status === 408 ? { Connection: 'close' } : {}
  if (error.code === 'bad_method') headers.Allow = String(error.data.allow)
  if (status === 503) headers['Retry-After'] = '1'
  answerJson(response, status, errorBody(error), headers)
}
