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
  store_unreachable: {
    says: 'the database of the sessions can not be reached: {reason}',
    retryable: true,
    advice: 'See that it runs and that --store, PGUSER and PGPASSWORD are right, then try again',
  },
  store_refused: {
    says: 'the database of the sessions refused it: {reason}',
    retryable: false,
    advice: 'See the log of the database; its schema is brought up to date by: agent sessions migrate',
  },
  store_unsafe: {
    says: 'the database of the sessions runs with {setting}: what it acknowledges may be lost',
    retryable: false,
    advice: 'Set it right in postgresql.conf and restart the server',
  },
  store_schema: {
    says: 'the database has schema version {found}, this program needs {needed}',
    retryable: false,
    advice:
      'Bring it up to date: agent sessions migrate --store {store}   (a newer one needs a newer program)',
  },
  answer_lost: {
    says: 'the database did not answer, and whether it did what was asked is not known: {reason}',
    retryable: true,
    advice: 'Look whether it happened, then try again',
  },
  outcome_unknown: {
    says: 'session {id}: the database was lost while it was written to; whether the newest records are in is not known',
    retryable: true,
    advice: 'Open the session again to see, or send the prompt again with its idempotency key',
  },
  self_fenced: {
    says: 'session {id} was given up: no heartbeat of this process was confirmed for {silentMs} ms',
    retryable: true,
    advice: 'Open it again when its store can be reached',
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
  bad_key: {
    says: 'a tenant key can not be used: {reason}',
    retryable: false,
    advice:
      'A key file holds 32 random bytes in base64: head -c 32 /dev/urandom | base64 > KEYFILE; chmod 600 KEYFILE',
  },
  no_key: {
    says: 'session {id} is sealed with key {kid}, which is not here',
    retryable: false,
    advice:
      'Give the key file as --dek-file, or as --old-dek-file beside a newer one; without the key nobody can read it',
  },
  wrong_seal: {
    says: 'none of the {lines} sealed lines of session {id} opens with its key',
    retryable: false,
    advice: 'It was sealed for another tenant (--tenant) or under another id, or brought here from elsewhere',
  },
  not_sealed: {
    says: 'session {id} is not sealed, and with a key only sealed sessions are read',
    retryable: false,
    advice: 'Seal it: agent sessions rewrap --dek-file KEYFILE; or leave --dek-file out',
  },
  closed: {
    says: 'session {id} is closed here',
    retryable: false,
    advice: 'Open it again',
  },
} as const satisfies ErrorTable

/** What an append rejects with when it was not made durable, or is not known to be: nothing may be acted upon then. */
export const APPEND_FAILURES = ['storage', 'session_superseded', 'outcome_unknown', 'self_fenced'] as const

export const fail = failer(sessionErrors)
