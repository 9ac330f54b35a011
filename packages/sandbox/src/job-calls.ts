/** Jobs: commands that outlive their caller, named by it, so that whoever comes after it finds them. */
import type { ExecJobState } from '@beige/protocol'
import type { Command, ExecChunk, ExecEnd } from './exec-client.ts'

/** Ids are unique within a scope. `id` is 1 to 128 of `[A-Za-z0-9._-]`. */
export type JobName = { id: string; scope: string }

export type JobStart = JobName & {
  /** Start only on this instance of the endpoint; another one answers `gone` and starts nothing. */
  instance?: string
  /** True: a closed connection does not kill it. */
  keep?: boolean
  notify?: JobNotify
  /** How long its end and its output are kept. */
  ttlS?: number
}
/** Who is told when it ends. */
export type JobNotify = { url: string; token: string }

/** Bytes of each stream that a reader has already. */
export type JobOffsets = { stdout: number; stderr: number }

export type OnJobChunk = (chunk: ExecChunk) => void | Promise<void>

/**
 * Codes: `no_jobs` where the endpoint has none, `not_found` for an id that it never saw, `gone` for one whose end it no longer
 * keeps or that belongs to another instance, `conflict` for an id of another command and for what comes too late.
 *
 * An abort lets go of a job and does not end it, unless it is not kept: `killJob` ends it. When a start rejects after an
 * abort, the endpoint has begun the job or never will, so that a `killJob` that follows can not come too early.
 *
 * A kept job is not slowed by its reader, so a chunk's offset may jump: what lies between was dropped.
 */
export interface JobCalls {
  hasJobs(signal: AbortSignal): Promise<boolean>
  /**
   * Starts the command, or attaches to what was started under that id, running or finished; output comes from its beginning.
   * `onStart` is called when the endpoint has said that it runs.
   */
  startJob(
    command: Command,
    job: JobStart,
    how: { onStart?: () => void; onChunk: OnJobChunk },
    signal: AbortSignal,
  ): Promise<ExecEnd>
  /** Output from `from` on until it ends. */
  followJob(job: JobName, from: JobOffsets, onChunk: OnJobChunk, signal: AbortSignal): Promise<ExecEnd>
  /** Output from `from` on that is there, or comes within `waitMs`. Null when it still runs then. */
  readJob(
    job: JobName,
    from: JobOffsets,
    waitMs: number,
    onChunk: OnJobChunk,
    signal: AbortSignal,
  ): Promise<ExecEnd | null>
  jobState(job: JobName, signal: AbortSignal): Promise<ExecJobState>
  listJobs(scope: string, signal: AbortSignal): Promise<readonly ExecJobState[]>
  /** `conflict` when it has ended. */
  keepJob(job: JobName, signal: AbortSignal, notify?: JobNotify): Promise<void>
  /** `end` closes its stdin afterwards. `conflict` once it is closed. */
  writeJobStdin(job: JobName, bytes: Uint8Array, signal: AbortSignal, how?: { end?: boolean }): Promise<void>
  /** Resolves when nothing of it runs. */
  killJob(job: JobName, signal: AbortSignal): Promise<ExecJobState>
  /** Kills and forgets all of a scope. */
  killScope(scope: string, signal: AbortSignal): Promise<void>
}
