/** Everything that can go wrong with a session's log, by code. */
import { type ErrorTable, failer } from '@beige/protocol'

export const sessionErrors = {
  exists: {
    says: 'session {id} exists already',
    retryable: false,
    advice: 'Open it with --session-id, or choose another id',
  },
  not_found: {
    says: 'there is no session {id}',
    retryable: false,
    advice: 'See what there is: agent sessions list',
  },
  not_in_trash: {
    says: 'there is no session {id} in the trash',
    retryable: false,
    advice: 'See what there is: agent sessions trash',
  },
  session_busy: {
    says: 'session {id} is held by another live process ({owner})',
    retryable: true,
    advice: 'Wait until it ends, or attach to it instead of opening it',
  },
  session_superseded: {
    says: 'session {id} was taken over by another process after epoch {epoch}',
    retryable: false,
    advice: 'Open it again to see what the new owner wrote; nothing unacknowledged of this one was kept',
  },
  version: {
    says: 'session {id} has format version {version}, this program reads up to {supported}',
    retryable: false,
    advice: 'Use a newer version of this program for it',
  },
  storage: {
    says: 'session {id}: {what} failed, nothing of it was acknowledged: {reason}',
    retryable: true,
    advice: 'Make room on the disk, or see to its permissions and health, then send it again',
  },
  bad_record: {
    says: 'session {id}: a record of type {type} can not be written: {reason}',
    retryable: false,
    advice: 'This is a bug of the program that wrote it',
  },
  unknown_id: {
    says: 'there is no entry {id} in this session',
    retryable: false,
    advice: 'See which there are: get_tree, or agent sessions show',
  },
  closed: {
    says: 'session {id} is closed here',
    retryable: false,
    advice: 'Open it again',
  },
} as const satisfies ErrorTable

export const fail = failer(sessionErrors)
