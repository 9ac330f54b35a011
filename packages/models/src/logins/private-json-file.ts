/**
 * A JSON file that several processes of one user change: `auth.json`, settings. Mode 0600, replaced whole, changed under
 * an exclusive SQLite transaction beside it, which is a lock that the kernel holds and that ends with its process.
 */
import { chmod, mkdir, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { fail } from '../errors.ts'
import { nodeDisk } from '../node-disk.ts'
import { entriesOf, type JsonEntries, type JsonFile } from './json-file.ts'

const POLL_MS = 25 // SQLite tells nobody when a lock is free
const MAX_WAIT_MS = 90_000 // a refresh that another process makes under it takes 30 s at most
const BUSY = 5 // SQLITE_BUSY
const PRIVATE = 0o600

export type PrivateJsonOptions = {
  /** Is told of a file that others could read; it is closed then. */
  warn?(text: string): void
  /** What is thrown for a file that is no JSON object. */
  bad(what: string): Error
}

export function privateJsonFile(path: string, { warn = () => {}, bad }: PrivateJsonOptions): JsonFile {
  const read = async (): Promise<JsonEntries | null> => {
    const bytes = await nodeDisk.read(path)
    if (bytes === null) return null
    const { mode } = await stat(path)
    if ((mode & 0o077) !== 0) {
      await chmod(path, PRIVATE)
      warn(`${path} could be read by others (${(mode & 0o777).toString(8)}); it is private again`)
    }
    return entriesOf(Buffer.from(bytes).toString('utf8'), bad)
  }
  return {
    path,
    read,
    async change(change, signal) {
      await mkdir(dirname(path), { recursive: true, mode: 0o700 })
      using _lock = await locked(`${path}.lock`, signal)
      const before = (await read()) ?? {}
      const after = await change(before)
      if (after === null) return before
      await nodeDisk.replace(path, Buffer.from(`${JSON.stringify(after, null, 2)}\n`))
      return after
    },
  }
}

async function locked(path: string, signal: AbortSignal | undefined): Promise<Disposable> {
  const database = new DatabaseSync(path, { timeout: 0 })
  try {
    await chmod(path, PRIVATE)
    const end = performance.now() + MAX_WAIT_MS
    while (!tryBegin(database)) {
      signal?.throwIfAborted()
      if (performance.now() > end) throw fail('auth_file_busy', { path, seconds: MAX_WAIT_MS / 1000 })
      await sleep(POLL_MS)
    }
  } catch (error) {
    database.close()
    throw error
  }
  return { [Symbol.dispose]: () => database.close() }
}

function tryBegin(database: DatabaseSync): boolean {
  try {
    database.exec('BEGIN EXCLUSIVE')
    return true
  } catch (error) {
    if (error instanceof Error && 'errcode' in error && error.errcode === BUSY) return false
    throw error
  }
}
