/** Writes the end of a job into the log of a session that is live nowhere, so that its next owner tells the model. */
import { openedSession, reportedJob } from '@beige/harness'
import { type ExecJobState, isError, type SessionId } from '@beige/protocol'
import type { SessionStore } from '@beige/sessions'

/** `held`: another process owns the session, or this one is just opening or releasing it. */
export type Kept = { how: 'kept' } | { how: 'deleted' } | { how: 'held'; owner: string | null }

/** Owns the session for as long as that takes. Rejects with `storage`. */
export async function keepInLog(store: SessionStore, id: SessionId, state: ExecJobState): Promise<Kept> {
  try {
    const log = await store.open(id)
    try {
      const session = openedSession(log)
      const record = reportedJob(session.notes(), state)
      if (record) await session.append(record)
      return { how: 'kept' }
    } finally {
      await log.close()
    }
  } catch (error) {
    if (isError(error, 'not_found')) return { how: 'deleted' }
    if (isError(error, 'session_busy', 'session_superseded')) {
      return { how: 'held', owner: typeof error.data.owner === 'string' ? error.data.owner : null }
    }
    throw error
  }
}
