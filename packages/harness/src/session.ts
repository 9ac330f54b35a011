/** A session open for writing: its log and the state that the log folds to, moved on together. */
import type { RecordBody, SessionRecord } from '@beige/protocol'
import { createFold, type SessionLog, type SessionState } from '@beige/sessions'
import { createNotesFold, type SessionNotes } from './jobs/session-notes.ts'

export interface Session {
  readonly log: SessionLog
  state(): SessionState
  /** What its `custom` records say of jobs, notices and the sandbox. */
  notes(): SessionNotes
  /** Resolves when all are durable; only then is the state moved on. */
  append(...bodies: readonly RecordBody[]): Promise<readonly SessionRecord[]>
}

export function openedSession(log: SessionLog): Session {
  const fold = createFold()
  const notes = createNotesFold()
  let applied = 0
  const catchUp = () => {
    for (; applied < log.records.length; applied++) {
      const record = log.records[applied]
      if (!record) continue
      fold.apply(record)
      notes.apply(record)
    }
  }
  catchUp()
  return {
    log,
    state: () => fold.state(),
    notes: () => notes.notes(),
    append: async (...bodies) => {
      const records = await log.append(...bodies)
      catchUp()
      return records
    },
  }
}
