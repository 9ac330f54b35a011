/** An error as OpenAI's clients expect it. */
import type { WireError } from '../wire.ts'

export function openAiError({ status, code, message }: WireError): { error: Record<string, unknown> } {
  return { error: { message, type: typeOf(status), param: null, code: CODES[code] ?? code } }
}

function typeOf(status: number): string {
  if (status === 429) return 'rate_limit_error'
  if (status === 402) return 'insufficient_quota'
  return status >= 500 ? 'server_error' : 'invalid_request_error'
}

/** The vendor's own words, which clients look for. */
const CODES: Readonly<Record<string, string>> = {
  unauthorized: 'invalid_api_key',
  context_too_long: 'context_length_exceeded',
  rate_limit: 'rate_limit_exceeded',
  rate_limited: 'rate_limit_exceeded',
  quota: 'rate_limit_exceeded',
  budget: 'insufficient_quota',
  unknown_model: 'model_not_found',
  model_missing: 'model_not_found',
}
