/** The end of a job as its endpoint reports it by itself, to whoever there is. */
import type { ExecJobState, RecordBody } from '@beige/protocol'
import {
  endedRecord,
  type JobEnd,
  type NumberedJob,
  runningJobs,
  type SessionNotes,
} from './session-notes.ts'

/** Null where its end is known, or it never got a number: then a call has its end, or joins it. */
export function runningJob(
  notes: Pick<SessionNotes, 'jobs'>,
  { id, scope }: Pick<ExecJobState, 'id' | 'scope'>,
): NumberedJob | null {
  return runningJobs(notes).find(job => job.id === id && job.scope === scope) ?? null
}

export function reportedEnd(state: ExecJobState): { end: JobEnd; durationMs: number | null } {
  const { exit_code, signal, timed_out, started_at: from, ended_at: to } = state
  return {
    end: { how: 'exited', exit_code, signal, timed_out },
    durationMs: to === null ? null : Math.max(0, to - from),
  }
}

/** What its session's log is to say of it, so that the next owner tells the model; null where it says so already. */
export function reportedJob(notes: Pick<SessionNotes, 'jobs'>, state: ExecJobState): RecordBody | null {
  const job = runningJob(notes, state)
  return job && endedRecord(job.number, { ...reportedEnd(state), tail: '', told: false })
}
