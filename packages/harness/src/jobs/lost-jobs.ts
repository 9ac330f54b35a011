/** What becomes of a session's running jobs when the sandbox that they run in is ended. */
import type { Session } from '../session.ts'
import { endedRecord, type NumberedJob, runningJobs } from './session-notes.ts'

/** Writes down that they ended with it, so that the model is told at the session's next run. Answers which they were. */
export async function recordLostJobs(session: Session): Promise<readonly NumberedJob[]> {
  const jobs = runningJobs(session.notes())
  const end = { how: 'gone', reason: 'it was ended with its sandbox when the agent ended' } as const
  const records = jobs.map(({ number }) =>
    endedRecord(number, { end, durationMs: null, tail: '', told: false }),
  )
  if (records.length > 0) await session.append(...records)
  return jobs
}
