/** Where the torture's sessions are kept, what can go wrong there, and a store that reads them when all is over. */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { messageOf, systemClock, systemRandom } from '@beige/protocol'
import { createFilesStore, createPostgresStore, migratePostgres, type SessionStore } from '@beige/sessions'
import type { ReplicaSetup } from './wire.ts'

export type Place = AsyncDisposable & {
  /** For the replica of a slot. */
  storeOf(slot: number): ReplicaSetup['store']
  auditor(): SessionStore
  /** What can be done to the place itself, by name; each resolves when it is whole again. */
  troubles: Readonly<Record<string, (ms: number) => Promise<void>>>
  /** Takes the slot's way to the store away, without a word; null where there is none to take. */
  cut: ((slot: number, ms: number) => Promise<void>) | null
}

export type Say = (text: string) => void
const DISK_MB = 48
const CHUNK_BYTES = 1 << 20

const clock = systemClock
const random = systemRandom
const pause = (ms: number) => clock.sleep(ms)

/** On a small tmpfs where this process may mount one; else in a folder, which is never full. */
export async function filesPlace(say: Say): Promise<Place> {
  const folder = mkdtempSync(join(tmpdir(), 'beige-torture-'))
  const root = join(folder, 'sessions')
  let isMounted = true
  try {
    await promisify(execFile)('mount', ['-t', 'tmpfs', '-o', `size=${DISK_MB}m`, 'tmpfs', folder])
  } catch (error) {
    isMounted = false
    say(`full disk: left out, ${messageOf(error).split('\n').at(-1)}`)
  }

  async function full(ms: number): Promise<void> {
    const filler = join(folder, 'filler')
    const file = await open(filler, 'w')
    try {
      const zeros = Buffer.alloc(CHUNK_BYTES)
      for (let bytes = CHUNK_BYTES; bytes >= 1; ) {
        try {
          await file.write(zeros, 0, bytes)
        } catch {
          bytes = Math.floor(bytes / 16) // to the last byte
        }
      }
      await pause(ms)
    } finally {
      await file.close()
      await rm(filler, { force: true })
    }
  }

  return {
    storeOf: () => ({ kind: 'files', root }),
    auditor: () => createFilesStore({ root, clock, random }),
    troubles: isMounted ? { 'full disk': full } : {},
    cut: null,
    async [Symbol.asyncDispose]() {
      if (isMounted) await promisify(execFile)('umount', ['-l', folder]).catch(() => {})
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** A server of its own, each replica behind a proxy of its own. */
export async function postgresPlace(repository: string, slots: number): Promise<Place> {
  const main = join(repository, 'test-support/src/postgres-main.ts')
  const child: ChildProcess = spawn(process.execPath, ['--conditions=beige-source', main, String(slots)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const replies = createInterface({ input: child.stdout ?? process.stdin })[Symbol.asyncIterator]()
  const exited = new Promise<void>(resolve => child.once('exit', () => resolve()))
  const reply = async (): Promise<string> => {
    const next = await replies.next()
    if (next.done) throw new Error('the PostgreSQL of the torture ended')
    return next.value
  }
  let asking: Promise<unknown> = Promise.resolve()
  const ask = (text: string): Promise<string> => {
    const answer = asking.then(() => {
      child.stdin?.write(`${text}\n`)
      return reply()
    })
    asking = answer.catch(() => {})
    return answer
  }
  const [direct = '', ...through] = (await reply()).split(' ')
  await migratePostgres(direct)
  return {
    storeOf: slot => ({ kind: 'postgres', url: through[slot] ?? direct }),
    auditor: () => createPostgresStore({ url: direct, clock, random }),
    troubles: {
      'server restart': async () => void (await ask('restart fast')),
      'server crash': async () => void (await ask('restart crash')),
      'connections reset': async () => void (await ask('reset')),
    },
    async cut(slot, ms) {
      await ask(`silent ${slot}`)
      await pause(ms)
      await ask(`pass ${slot}`)
    },
    async [Symbol.asyncDispose]() {
      child.stdin?.end()
      await exited
    },
  }
}
