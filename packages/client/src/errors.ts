import { type ErrorTable, failer } from '@beige/protocol'

export const clientErrors = {
  no_connection: {
    says: 'no connection to {address}: {reason}',
    retryable: true,
    advice: 'Check that the server runs and the address is right',
  },
  refused: {
    says: '{address} refused the connection: {reason}',
    retryable: false,
    advice: 'Check the token, the host name and the role',
  },
  unanswered: {
    says: 'the connection was lost before {command} was answered',
    retryable: false,
    advice: 'Whether it took effect is not known: look at get_state before sending it again',
  },
  closed: { says: 'this client is closed', retryable: false, advice: 'Connect again' },
  command: { says: '{command}: {error}', retryable: false, advice: '{advice}' },
} as const satisfies ErrorTable

export const fail = failer(clientErrors)
