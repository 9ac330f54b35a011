/** The client side of `exec/2`: the only way in which anything in the product starts a process for a tool call. */
import type { ExecHealth, ExecRequest, FileList, FileStat } from '@beige/protocol'
import type { JobCalls } from './job-calls.ts'

/** Where an endpoint answers. `socketPath` may be a `/proc/self/fd/N` path that its owner keeps open. */
export type ExecEndpoint =
  | { kind: 'unix'; socketPath: string; basePath: string; headers?: Readonly<Record<string, string>> }
  | { kind: 'url'; url: string; headers: Readonly<Record<string, string>> }

/** How a command ended. `exitCode` is null where a signal ended it. */
export type ExecEnd = {
  exitCode: number | null
  signal: string | null
  timedOut: boolean
  heldPipes: boolean
}
export type ExecResult = ExecEnd & { stdout: Uint8Array; stderr: Uint8Array }
export type ExecChunk = { stream: 'stdout' | 'stderr'; offset: number; bytes: Uint8Array }

/**
 * Whose requests they are: the endpoint keeps the highest `n` of each scope and refuses a lower one with `conflict`, so that
 * an owner which was paused past its takeover does nothing more. A session's id and epoch.
 */
export type ExecFence = { scope: string; n: number }

/** What to run; the wire's `stream` and `job` are chosen by the method that is called. */
export type Command = Omit<ExecRequest, 'stream' | 'stdin' | 'job'> & { stdin?: Uint8Array }

export type FileContent = { bytes: Uint8Array; etag: string; mode: number; size: number }

/**
 * Every method rejects with a `BeigeError` of this package's table, checks `signal` on entry, and after an abort nothing
 * that it started is running any more (for a command: the endpoint has answered that no descendant is left, or is gone).
 */
export interface ExecClient extends FileCalls, JobCalls {
  readonly endpoint: ExecEndpoint
  /** Null where the endpoint has no `/health`: then only `run` and `stream` work, files become commands. */
  health(signal: AbortSignal): Promise<ExecHealth | null>
  /** Runs a command and collects its output (up to the endpoint's `max_response_bytes`). A failing command is a result. */
  run(command: Command, signal: AbortSignal): Promise<ExecResult>
  /** Runs a command and hands out its output as it comes, in order of arrival. A slow `onChunk` slows the command. */
  stream(
    command: Command,
    onChunk: (chunk: ExecChunk) => void | Promise<void>,
    signal: AbortSignal,
  ): Promise<ExecEnd>
  /** The same client, each of whose requests carries the fence. Closing either closes both. */
  fenced(fence: ExecFence): ExecClient
  /** Frees pooled connections. Commands in flight are ended as by an abort; jobs that are kept go on. */
  close(): Promise<void>
}

/** Files of the sandbox, by its own paths. A missing one is `file_not_found`, one that is no regular file `file_refused`. */
export interface FileCalls {
  /** `range` is in bytes, its end exclusive and free to lie behind the end of the file. */
  readFile(path: string, signal: AbortSignal, range?: { start: number; end: number }): Promise<FileContent>
  /** Atomic; keeps mode and owner of a file that is there, follows a link to its target. `ifMatch`: else `file_changed`. */
  writeFile(
    path: string,
    bytes: Uint8Array,
    signal: AbortSignal,
    options?: { ifMatch?: string; mode?: number; parents?: boolean },
  ): Promise<{ etag: string; created: boolean }>
  stat(path: string, signal: AbortSignal): Promise<FileStat>
  list(path: string, signal: AbortSignal, options?: { depth?: number; limit?: number }): Promise<FileList>
  /** A file or an empty directory. */
  remove(path: string, signal: AbortSignal): Promise<void>
}
