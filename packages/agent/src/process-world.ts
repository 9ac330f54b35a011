/** What the command needs of the process around it, handed in so that tests can stand in its place. */
import type { Clock, Random } from '@beige/protocol'

export type ProcessWorld = {
  /** The process's own: what provider libraries would read is taken out of it before the first request. */
  env: Record<string, string | undefined>
  cwd: string
  stdin: NodeJS.ReadableStream
  stdout: NodeJS.WritableStream & { isTTY?: boolean; columns?: number; writableLength?: number }
  stderr: NodeJS.WritableStream & { isTTY?: boolean; columns?: number }
  clock: Clock
  random: Random
  /** Calls back at each SIGINT, SIGTERM and SIGHUP, once where several come in one breath, until the answer is called. */
  onSignal(listener: (signal: NodeJS.Signals) => void): () => void
  /** Calls back when whoever read stdout has gone away, until the answer is called. */
  onOutputClosed(listener: () => void): () => void
  /** Ends the process at once. */
  exit(code: number): never
}
