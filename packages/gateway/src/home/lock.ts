/**
 * One gateway a home: an exclusive SQLite transaction on `run/gateway.lock`. It is a lock of the kernel and dies with
 * the process, so a pid that was reused or a file left behind decides nothing (H11).
 */
import { chmodSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { fail } from '../errors.ts'

/** Throws `already_running` at once when another process holds it. */
export function takeLock(path: string, who: () => string): Disposable {
  const database = new DatabaseSync(path, { timeout: 0 })
  try {
    database.exec('PRAGMA journal_mode = DELETE')
    chmodSync(path, 0o600) // whatever the umask
    database.exec('BEGIN EXCLUSIVE')
  } catch (error) {
    database.close()
    const isBusy = error instanceof Error && /locked|busy/i.test(error.message)
    throw isBusy ? fail('already_running', { who: who() }, error) : error
  }
  return {
    [Symbol.dispose]() {
      database.close()
    },
  }
}
