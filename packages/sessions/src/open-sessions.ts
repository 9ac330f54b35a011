/** The sessions that one store of this process has open, or is about to: one opening of an id at a time. */
import { isError, messageOf, type SessionId } from '@beige/protocol'
import { fail } from './errors.ts'
import type { SessionLog } from './store.ts'

export interface OpenSessions<Log extends SessionLog = SessionLog> {
  /**
   * Holds the id while `become` runs, and on while the log that it makes is open. Errors of the outside come out as
   * `storage`.
   */
  claim<T extends Log | null>(
    id: SessionId,
    signal: AbortSignal | undefined,
    become: () => Promise<T>,
  ): Promise<T>
  has(id: SessionId): boolean
  forget(id: SessionId): void
  logs(): Log[]
  closeAll(): Promise<void>
}

export function createOpenSessions<Log extends SessionLog>(incarnation: string): OpenSessions<Log> {
  /** Null while it is being opened. */
  const open = new Map<SessionId, Log | null>()
  const logs = () => [...open.values()].filter(log => log !== null)
  return {
    async claim(id, signal, become) {
      if (open.has(id)) throw fail('session_busy', { id, owner: incarnation })
      open.set(id, null)
      try {
        const log = await become()
        if (log) open.set(id, log)
        else open.delete(id)
        return log
      } catch (error) {
        open.delete(id)
        if (signal?.aborted) throw error
        // Whoever was faster than we is the owner; we never were.
        if (isError(error, 'session_superseded')) throw fail('session_busy', { id, owner: 'another' }, error)
        throw storageError(id, 'opening it', error)
      }
    },
    has: id => open.has(id),
    forget: id => void open.delete(id),
    logs,
    async closeAll() {
      await Promise.all(logs().map(log => log.close()))
    },
  }
}

/** Errors of the outside as ours; those that are ours already stay what they are. */
export function storageError(id: SessionId, what: string, error: unknown): unknown {
  return isError(error) ? error : fail('storage', { id, what, reason: messageOf(error) }, error)
}
