import { type ErrorTable, failer, SERVE_CODES, type ServeCode } from '@beige/protocol'

export const hostErrors = {
  bad_request: {
    says: 'bad request: {reason}',
    retryable: false,
    advice: 'See the serve protocol for the fields',
  },
  unknown_command: {
    says: 'unknown command {type}',
    retryable: false,
    advice: 'This host knows: {known}',
  },
  unsupported: {
    says: '{command} is not supported here: {reason}',
    retryable: false,
    advice: 'See the list of what is not there yet in the README of the host',
  },
  forbidden: {
    says: '{command} is not allowed: {reason}',
    retryable: false,
    advice: 'Connect with a token that may drive',
  },
  busy: {
    says: 'a run is in flight: {run_id}',
    retryable: true,
    advice: 'Wait for its response, or send abort',
  },
  conflict: { says: '{reason}', retryable: false, advice: 'Use a new key for a new message' },
  queue_full: {
    says: 'the {lane} queue is full',
    retryable: true,
    advice: 'Wait for a turn to end, or take one back with unqueue',
  },
  unknown_id: { says: 'no entry {id} in this session', retryable: false, advice: 'Ask again without since' },
  not_found: { says: 'no {what} {id}', retryable: false, advice: 'List what there is first' },
  too_large: {
    says: '{what} is larger than {maxBytes} bytes',
    retryable: false,
    advice: 'Send less at once',
  },
  timeout: {
    says: '{command} has not ended after {ms} ms; it goes on',
    retryable: true,
    advice: 'Its result reaches viewers; ask get_run or get_state',
  },
  too_many_viewers: {
    says: 'this session has {max} connections already',
    retryable: true,
    advice: 'Close one that nobody needs, or try again in a second',
  },
  stopping: {
    says: 'session {id} is being released',
    retryable: true,
    advice: 'Connect again in a moment',
  },
  closing: { says: 'the host is stopping', retryable: true, advice: 'Connect again in a moment' },
} as const satisfies ErrorTable

export const fail = failer(hostErrors)

/** Codes of other packages as the protocol calls them; the exact one stays in `data.code`. */
const WIRE_CODES: Readonly<Record<string, ServeCode>> = {
  session_superseded: 'superseded',
  no_output: 'model',
  session_busy: 'unavailable',
  too_many_viewers: 'unavailable',
  stopping: 'unavailable',
  closing: 'unavailable',
  closed: 'unavailable',
  exists: 'conflict',
  bad_record: 'bad_request',
  bad_value: 'bad_request',
  bad_line: 'bad_request',
  line_too_large: 'too_large',
  interrupted: 'aborted',
  unknown_model: 'no_route',
  no_sandbox: 'exec',
  endpoint_lost: 'exec',
  endpoint_unreachable: 'exec',
  no_such_job: 'not_found',
  not_in_trash: 'not_found',
  not_allowed: 'no_route',
}

/** The code that a client is told. */
export function serveCode(code: string): ServeCode {
  return SERVE_CODES.find(known => known === code) ?? WIRE_CODES[code] ?? 'internal'
}
