import { type ErrorTable, failer } from '@beige/protocol'

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
  busy: {
    says: 'a run is in flight: {run_id}',
    retryable: true,
    advice: 'Wait for its response, or send abort',
  },
  conflict: {
    says: 'idempotency key {key} was used for another message',
    retryable: false,
    advice: 'Use a new key for a new message',
  },
  unknown_id: { says: 'no entry {id} in this session', retryable: false, advice: 'Ask again without since' },
  closing: { says: 'the host is stopping', retryable: true, advice: 'Connect again in a moment' },
} as const satisfies ErrorTable

export const fail = failer(hostErrors)
