/** One opener of a run folder at a time, by a lock that the kernel holds: a killed process can not leave it behind (H11). */
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { fail } from '../errors.ts'

const POLL_MS = 15 // SQLite tells nobody when a lock is free
const MAX_WAIT_MS = 120_000
const BUSY = 5 // SQLITE_BUSY

/** Waits until nobody else opens `id`. Dispose to let the next one in. */
export async function lockFolder(id: string, folder: string, signal: AbortSignal): Promise<Disposable> {
  const lockFile = join(folder, 'lock')
  const end = performance.now() + MAX_WAIT_MS
  const db = new DatabaseSync(lockFile, { timeout: 0 })
  try {
    while (!tryBegin(db)) {
      if (signal.aborted) throw fail('aborted', { what: `waiting for the sandbox ${id}` })
      if (performance.now() > end) throw fail('sandbox_busy', { id, waitedMs: MAX_WAIT_MS, lockFile })
      await sleep(POLL_MS)
    }
  } catch (error) {
    db.close()
    throw error
  }
  return { [Symbol.dispose]: () => db.close() }
}

function tryBegin(db: DatabaseSync): boolean {
  try {
    db.exec('BEGIN EXCLUSIVE')
    return true
  } catch (error) {
    if (error instanceof Error && 'errcode' in error && error.errcode === BUSY) return false
    throw error
  }
}
