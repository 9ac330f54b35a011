/** Where sessions are kept. One interface for every store. */
import type { RecordBody, SessionBody, SessionId, SessionRecord } from '@beige/protocol'

/** What an opener could not read, told once to clients and model. */
export type Damage = {
  segment: string
  offset: number
  length: number
  seqs: readonly number[]
  reason: string
}

/** A session open for writing by this process. One owner at a time; the epoch says which. */
export interface SessionLog {
  readonly id: SessionId
  readonly epoch: number
  /** All records so far, in order, including those appended here. Never mutated in place by a caller. */
  readonly records: readonly SessionRecord[]
  /** Found while opening; the `damage` records for it are already appended. */
  readonly damage: readonly Damage[]
  /**
   * Appends in order and resolves when all of them are durable. Concurrent calls share one sync (group commit).
   * Rejects with `storage` when nothing of this call became durable, `session_superseded` when another owner took over;
   * then nothing may be acknowledged or acted upon.
   */
  append(...bodies: readonly RecordBody[]): Promise<readonly SessionRecord[]>
  /** Ends ownership; graceful. Idempotent. */
  close(): Promise<void>
}

/** A row of a listing; made from columns or an index, never by reading whole transcripts (H12). */
export type SessionRow = {
  id: SessionId
  title: string
  cwd: string
  model: string
  createdAt: number
  updatedAt: number
  /** Facts that its maker put in the first record. */
  meta: Readonly<Record<string, unknown>>
}

export type NewSession = Omit<SessionBody, 'type' | 'version'>

export type OpenOptions = {
  signal?: AbortSignal
  /** Called once when the open has to wait for an owner to show itself alive or expire. */
  waiting?: (holder: { owner: string; atMostMs: number }) => void
}

export interface SessionStore {
  /**
   * A new session; its first record is durable when this resolves (H10), and `more` by the same sync. Rejects with
   * `exists`.
   */
  create(first: NewSession, ...more: readonly RecordBody[]): Promise<SessionLog>
  /**
   * Takes the next epoch. Rejects with `not_found`, `session_busy` (a live owner), `version` (a newer format). Whether an
   * owner still lives may take 3 s to see.
   */
  open(id: SessionId, options?: OpenOptions): Promise<SessionLog>
  exists(id: SessionId): Promise<boolean>
  /** Reads without owning. */
  read(id: SessionId): Promise<readonly SessionRecord[]>
  /** Newest first. */
  list(query: {
    cwd?: string
    limit: number
    offset?: number
  }): Promise<{ rows: readonly SessionRow[]; total: number }>
  close(): Promise<void>
}
