/** What every listener of one process shares. */
import type { ExecNotify, NewSession, SessionHost } from '@beige/host'
import type { Clock, Random } from '@beige/protocol'
import type { Guard } from './guard.ts'
import type { OpenViewers } from './viewers.ts'

export type Serving = {
  host: SessionHost
  /** What a session begins with that is not there yet. */
  fresh(): NewSession
  guard: Guard
  /** Takes what sandboxes report; null: no sandbox was told to. */
  execNotify: ExecNotify | null
  viewers: OpenViewers
  clock: Clock
  random: Random
  maxConnections: number
  /** What `/readyz` says; null: ready. */
  notReady(): string | null
  logError(error: unknown): void
}
