/** What a session is: the fold of its records. `fold.ts` makes it; the turn, the host and listings read it. */
import type {
  CallId,
  CompactionBody,
  EntryId,
  MessageBody,
  PromptBody,
  RunEndBody,
  SessionBody,
  ToolFinishedBody,
  ToolStartedBody,
  Usage,
} from '@beige/protocol'
import type { Damage } from './store.ts'

/** One tool call of an assistant message, in the order of the message, with what is known of it. */
export type CallState = {
  id: CallId
  name: string
  input: unknown
  /** The newest `tool_started` of the call. */
  started: ToolStartedBody | null
  finished: ToolFinishedBody | null
}

/** The entries of the current branch, oldest first. */
export type Entry =
  | { kind: 'prompt'; id: EntryId; seq: number; body: PromptBody }
  | { kind: 'message'; id: EntryId; seq: number; body: MessageBody; calls: readonly CallState[] }

/** Told in the place of entries that a compaction folded, or of a branch that was left. */
export type Summary = {
  kind: 'summary'
  of: 'compaction' | 'branch'
  id: EntryId
  seq: number
  text: string
}
export type ContextEntry = Entry | Summary

export type Run = {
  id: EntryId
  promptSeq: number
  idempotencyKey: string | null
  end: RunEndBody | null
}

/** Where a run without `run_end` stands (the takeover table). */
export type ResumePoint =
  | { at: 'prompt' }
  | { at: 'answered'; message: EntryId }
  | { at: 'calls'; message: EntryId; calls: readonly CallState[] }
  | { at: 'results'; message: EntryId }

export type SessionState = {
  session: SessionBody
  /** Newest value by name of `setting` records. */
  settings: ReadonlyMap<string, unknown>
  entries: readonly Entry[]
  /** What a provider is sent of the current branch: the newest compaction's summary and what it did not fold. */
  context: readonly ContextEntry[]
  /** The entry that the next one hangs below; null before the first. */
  leaf: EntryId | null
  runs: ReadonlyMap<EntryId, Run>
  /** Idempotency key to run id. */
  keys: ReadonlyMap<string, EntryId>
  openRun: (Run & { resume: ResumePoint; steps: number }) | null
  /** The newest compaction of the current branch. */
  compaction: CompactionBody | null
  /** Entry id to label. */
  labels: ReadonlyMap<string, string>
  /** Of all requests so far, on every branch. */
  usage: Usage
  damage: readonly Damage[]
}
