/** What a tool is. One implementation serves every name and every route it is offered under (H40). */
import type { CallId, CallOrigin, CallOutcome, Clock, ResultBlock, SessionId } from '@beige/protocol'
import type { ExecClient } from '@beige/sandbox'
import type { JobBook } from './jobs/job-book.ts'

/** `details` is for people and programs, never shown to a model: `code`, `diff`, `exit_code`, `path`… */
export type ToolResult = {
  content: readonly ResultBlock[]
  isError: boolean
  outcome: CallOutcome
  details: Readonly<Record<string, unknown>>
}

export type ToolErrorCode =
  | 'invalid_input'
  | 'unknown_tool'
  | 'denied'
  | 'not_found'
  | 'wrong_kind'
  | 'binary'
  | 'no_match'
  | 'not_unique'
  | 'overlap'
  | 'no_change'
  | 'stale'
  | 'permission'
  | 'no_space'
  | 'limit'
  | 'timeout'
  | 'interrupted'
  | 'unknown_outcome'
  | 'endpoint'
  | 'internal'

/** The place where a session's tools run, opened at the first need and again when it died. */
export interface Hands {
  /** Names the place, e.g. for locks: two sessions with one sandbox have the same. */
  readonly id: string
  /** Rejects with the sandbox package's errors; a lost sandbox is made again by the next call (H27). */
  open(signal: AbortSignal): Promise<{ exec: ExecClient; generation: string; workspace: string }>
}

/** A job of an exec endpoint as the log names it: `instance` is that of the endpoint. */
export type JobRef = { scope: string; id: string; instance: string }

/** What a program that calls a tool by its launcher is connected to. Absent when a model calls. */
export interface CallStreams {
  stdin: AsyncIterable<Uint8Array>
  stdout(bytes: Uint8Array): Promise<void>
  stderr(bytes: Uint8Array): Promise<void>
}

export interface ToolContext {
  readonly callId: CallId
  readonly sessionId: SessionId | null
  readonly hands: Hands
  /** Absolute folder inside the sandbox that relative paths start from. */
  readonly cwd: string
  readonly signal: AbortSignal
  readonly clock: Clock
  /** Added to the environment of commands, e.g. the token of the call. */
  readonly env: Readonly<Record<string, string>>
  /** ETags of files that this session has seen, by canonical path. */
  readonly seenFiles: Map<string, string>
  readonly streams?: CallStreams
  /** The session's background work. Absent where a call belongs to no session: its commands end with it. */
  readonly jobs?: JobBook
  /** Resolves when somebody has said something that the model does not hear before this call ends; rejects with `until`. */
  readonly steered?: (until: AbortSignal) => Promise<void>
  /** The job that a former owner of the session began for this very call: it is joined, not begun again. */
  readonly joins?: JobRef
  /** Durable when it resolves: from now on the call has its effect, in this job or (null) without one. */
  begins(job: JobRef | null): Promise<void>
  /** There is more output. Whoever shows it asks for the newest part of it, and not each time. */
  progress(snapshot: () => string, bytes: number): void
}

export interface Tool {
  readonly name: string
  readonly description: string
  /** JSON Schema of the input, closed objects; built with pi-schema. */
  readonly inputSchema: object
  /** False: an unknown outcome is told to the model and never repeated. */
  readonly idempotent: boolean
  readonly mode: 'shared' | 'exclusive'
  /**
   * True: nothing of it happens before it says `context.begins`, so until then the next owner may run it again, and
   * afterwards with `context.joins`.
   */
  readonly announces?: boolean
  /** What a call does to the world, for approvals; absent: it acts, which is more than writing a file. */
  effect?(input: unknown): 'reads' | 'writes' | 'acts'
  /** The path it works on, for locks: calls that share one wait for each other. */
  lock?(input: unknown): { path: string; mode: 'shared' | 'exclusive' } | null
  /**
   * `input` has passed `inputSchema`. Failures are results; it throws only `BeigeError`s (rendered by the pipeline) and,
   * after an abort, the signal's reason.
   */
  run(input: unknown, context: ToolContext): Promise<ToolResult>
}

export type ToolCall = {
  callId: CallId
  name: string
  input: unknown
  origin: CallOrigin
  /** The call that a launcher, app or plugin call came from. */
  parent?: CallId
  streams?: CallStreams
  cwd?: string
  /** Begun by a former owner of the session. */
  joins?: JobRef
}
