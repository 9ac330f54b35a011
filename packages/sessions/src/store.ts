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
   * Rejects with `storage` when nothing of this call became durable. With `session_superseded` (another owner took
   * over), `outcome_unknown` (the database was lost in the middle) or `self_fenced` the session is lost here and must be
   * opened again. In every case nothing may be acknowledged or acted upon.
   */
  append(...bodies: readonly RecordBody[]): Promise<readonly SessionRecord[]>
  /** Aborted, with the error that appends reject with, once the session is lost here. Not by `close`. */
  readonly lost: AbortSignal
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
  /** Prompts and messages; null when the row was made again out of a log's ends and nobody has opened it since. */
  messageCount: number | null
  /** The session it was forked from. */
  parent?: string
  /** Facts that its maker put in the first record. */
  meta: Readonly<Record<string, unknown>>
}

export type ListQuery = {
  /** Exactly this directory. */
  cwd?: string
  /** A part of the title, the id or the directory, in any case; what the title matches comes first, then ids. */
  text?: string
  limit: number
  offset?: number
}

export type ListPage = { rows: readonly SessionRow[]; total: number }

/** `place`: where it lies, for people; null where a store has no such thing. */
export type TrashedSession = { id: SessionId; deletedAt: number; place: string | null }

export type NewSession = Omit<SessionBody, 'type' | 'version'>

export type OpenOptions = {
  signal?: AbortSignal
  /** Called once when the open has to wait for an owner to show itself alive or expire. */
  waiting?: (holder: { owner: string; atMostMs: number }) => void
  /**
   * Writes the log anew: `repaired` without what is damaged in it, `newest_key` also under the key that writes now. What
   * is left out is in quarantine before. Only `files` has such bytes.
   */
  rewrite?: 'repaired' | 'newest_key'
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
  /** Newest first among equals. */
  list(query: ListQuery): Promise<ListPage>
  /**
   * Takes the next epoch and moves it to the trash. Rejects with `not_found`, `session_busy` (also when it is open here);
   * nothing happens to one that is in the trash already.
   */
  remove(id: SessionId): Promise<void>
  /** Newest first. */
  trash(): Promise<readonly TrashedSession[]>
  /** Out of the trash, the newest of that id. Rejects with `not_in_trash`, `exists` when the id was given again. */
  restore(id: SessionId): Promise<void>
  /** Ends for good what was removed before `time` (ms); answers how many. */
  emptyTrash(time: number): Promise<number>
  close(): Promise<void>
}

/** A store whose sessions may be sealed. */
export interface RewrappableStore extends SessionStore {
  /**
   * Moves every session and those in the trash to the key that writes, `told` of each; again after a kill it goes on where
   * it was. `unfolded`: how many index files of live processes still are as they were. Rejects with `session_busy` at one
   * that is in use, and with `bad_key` where there are no keys.
   */
  rewrap(told?: (one: { id: SessionId; isMoved: boolean }) => void): Promise<{ unfolded: number }>
}
