/** The shapes in which vendors say that something is wrong. */
import type { CannedAnswer, WireName } from '@beige/test-support'
import type { FailureClass } from '../src/index.ts'

export type Expected = {
  class: FailureClass
  cooldownMs?: number
  /** When it is not the cooldown. */
  statedMs?: number
  waitMs?: number
  alarm?: boolean
}

export type Row = {
  from: string
  what: string
  /** The provider's id, whose row is used where it has one. */
  vendor: string
  wire: WireName | 'google'
  /** A plain answer. */
  answer?: CannedAnswer
  /** An error event, which must mean `streamed` (default: what the row means) at any place of a stream. */
  event?: string
  means: Expected
  streamed?: Expected
}

export const json = (status: number, body: unknown, headers: Record<string, string> = {}): CannedAnswer => ({
  status,
  headers: { 'content-type': 'application/json', ...headers },
  body: JSON.stringify(body),
})
export const page = (status: number, headers: Record<string, string> = {}): CannedAnswer => ({
  status,
  headers: { 'content-type': 'text/html', ...headers },
  body: '<html><title>Something is overloaded, try later</title></html>',
})
export const sse = (data: unknown, event?: string) =>
  `${event === undefined ? '' : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`

export const claude = (type: string, message: string) => ({
  type: 'error',
  error: { type, message },
  request_id: 'req_1',
})
export const claudeEvent = (type: string, message: string) => sse(claude(type, message), 'error')
export const gpt = (message: string, type: string, code: string | null = null) => ({
  error: { message, type, param: null, code },
})
export const failed = (code: string, message: string) =>
  sse(
    {
      type: 'response.failed',
      sequence_number: 9,
      response: { id: 'resp_1', status: 'failed', error: { code, message } },
    },
    'response.failed',
  )
export const gemini = (code: number, status: string, message: string, details?: object[]) => ({
  error: { code, message, status, ...(details === undefined ? {} : { details }) },
})

export const anthropic = (
  what: string,
  answer: CannedAnswer | undefined,
  means: Expected,
  more: Partial<Row> = {},
): Row => ({
  from: 'Anthropic',
  vendor: 'anthropic',
  wire: 'anthropic',
  what,
  means,
  ...(answer === undefined ? {} : { answer }),
  ...more,
})
export const openai = (
  what: string,
  answer: CannedAnswer | undefined,
  means: Expected,
  more: Partial<Row> = {},
): Row => ({
  ...anthropic(what, answer, means),
  from: 'OpenAI',
  vendor: 'openai',
  wire: 'openai-responses',
  ...more,
})
export const google = (
  what: string,
  answer: CannedAnswer | undefined,
  means: Expected,
  more: Partial<Row> = {},
): Row => ({
  ...anthropic(what, answer, means),
  from: 'Google',
  vendor: 'google',
  wire: 'google',
  ...more,
})
export const other = (
  from: string,
  what: string,
  answer: CannedAnswer | undefined,
  means: Expected,
  more: Partial<Row> = {},
): Row => ({
  ...anthropic(what, answer, means),
  from,
  vendor: from.toLowerCase().replaceAll('.', ''),
  wire: 'openai-chat',
  ...more,
})

export const rate = (cooldownMs: number, statedMs?: number): Expected => ({
  class: 'rate_limit',
  cooldownMs,
  ...(statedMs === undefined ? {} : { statedMs }),
})
export const quota = (cooldownMs: number, statedMs?: number): Expected => ({
  class: 'quota',
  cooldownMs,
  ...(statedMs === undefined ? {} : { statedMs }),
})
export const only = (name: FailureClass): Expected => ({ class: name })
