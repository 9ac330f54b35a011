/** A session open for writing: its log and the state that the log folds to, moved on together. */
import type { RecordBody, SessionRecord } from '@beige/protocol'
import { createFold, type SessionLog, type SessionState } from '@beige/sessions'

export interface Session {
  readonly log: SessionLog
  state(): SessionState
  /** Resolves when all are durable; only then is the state moved on. */
  append(...bodies: readonly RecordBody[]): Promise<readonly SessionRecord[]>
}

export function openedSession(log: SessionLog): Session {
  const fold = createFold()
  let applied = 0
  const catchUp = () => {
    for (; applied < log.records.length; applied++) {
      const record = log.records[applied]
      if (record) fold.apply(record)
    }
  }
  catchUp()
  return {
    log,
    state: () => fold.state(),
    append: async (...bodies) => {
      const records = await log.append(...bodies)
      catchUp()
      return records
    },
  }
}
