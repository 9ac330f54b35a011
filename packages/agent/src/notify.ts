/** How sandboxes tell the end of a job: the key in the state directory, and what each command is started with. */
import { randomBytes } from 'node:crypto'
import { chmod, link, mkdir, open, readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { EXEC_NOTIFY_PATH, mintNotifyToken, NOTIFY_KEY_BYTES } from '@beige/host'
import { type Clock, isError, messageOf, type SessionId } from '@beige/protocol'
import type { JobNotify } from '@beige/sandbox'
import { fail } from './errors.ts'

const FILE = 'notify.key'
const OTHERS = 0o077
const KEPT_MS = 48 * 3600_000 // of an ended command, its endpoint says its end for a day; and a clock may be off

/**
 * The key by which reports of ended jobs are known, made at the first need: every process with this state directory has the
 * same. Rejects with `notify_key`.
 */
export async function notifyKey(stateDir: string): Promise<Uint8Array> {
  const path = join(stateDir, FILE)
  try {
    const made = await readKey(path)
    if (made) return made
    await mkdir(stateDir, { recursive: true, mode: 0o700 })
    await makeKey(path)
    return (await readKey(path)) ?? new Uint8Array(0)
  } catch (error) {
    throw isError(error) ? error : fail('notify_key', { path, reason: messageOf(error) }, error)
  }
}

async function readKey(path: string): Promise<Uint8Array | null> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
  if (text === null) return null
  const key = Buffer.from(text.trim(), 'base64url')
  if (key.length !== NOTIFY_KEY_BYTES) {
    throw fail('notify_key', { path, reason: 'it is not one of ours; remove it to get a new one' })
  }
  // Whoever reads it could tell us of ends that never were.
  if (((await stat(path)).mode & OTHERS) !== 0) await chmod(path, 0o600)
  return key
}

/** Whole or not there: of two processes that make one at once, both use the first. */
async function makeKey(path: string): Promise<void> {
  const mine = `${path}.${randomBytes(6).toString('hex')}`
  const file = await open(mine, 'wx', 0o600)
  try {
    await file.writeFile(`${randomBytes(NOTIFY_KEY_BYTES).toString('base64url')}\n`)
    await file.sync()
    await link(mine, path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error
    })
  } finally {
    await file.close()
    await rm(mine, { force: true })
  }
}

/** What the commands of a session are started with. `lifetimeMs`: how long one may run. */
export function notifyOf(
  { origin, key }: { origin: string; key: Uint8Array },
  id: SessionId,
  lifetimeMs: number,
  clock: Clock,
): () => JobNotify {
  const url = `${origin}${EXEC_NOTIFY_PATH}?session_id=${encodeURIComponent(id)}`
  return () => {
    const exp = Math.ceil((clock.now() + lifetimeMs + KEPT_MS) / 1000)
    return { url, token: mintNotifyToken(key, { tenant: '', session_id: id, scope: id, exp }) }
  }
}
