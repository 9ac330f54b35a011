/** What the benchmark of sessions compares: one lane is one session with one prompt at a time in flight. */
import { mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { newSessionId, type PromptBody, systemClock, systemRandom } from '@beige/protocol'
import { createFilesStore, createPostgresStore, migratePostgres, type SessionStore } from '@beige/sessions'
import { postgresMissing, startPostgres } from '@beige/test-support'

const outside = { clock: systemClock, random: systemRandom }
const PROMPT_CHARS = 200
const LINE_BYTES = 480 // of the record that such a prompt makes

export type Lane = { once(): Promise<unknown>; close(): Promise<void> }
export type Subject = { name: string; lane(): Promise<Lane> }

export type Stores = AsyncDisposable & {
  folder: string
  files: SessionStore
  postgres: { store: SessionStore; url: string; newDatabase(): Promise<string> } | null
}

/** Both stores on the same disk. `say` is told when PostgreSQL is left out. */
export async function openStores(say: (text: string) => void): Promise<Stores> {
  const stack = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'beige-bench-'))
  stack.defer(() => rm(folder, { recursive: true, force: true }))
  const files = createFilesStore({ root: join(folder, 'sessions'), ...outside })
  stack.defer(() => files.close())
  return {
    folder,
    files,
    postgres: await openPostgres(stack, say),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

async function openPostgres(
  stack: AsyncDisposableStack,
  say: (text: string) => void,
): Promise<Stores['postgres']> {
  const missing = postgresMissing()
  if (missing) {
    say(`postgres: left out, ${missing}`)
    return null
  }
  const server = stack.use(await startPostgres())
  await migratePostgres(server.url)
  const store = createPostgresStore({ url: server.url, ...outside })
  stack.defer(() => store.close())
  return {
    store,
    url: server.url,
    async newDatabase() {
      const url = await server.newDatabase()
      await migratePostgres(url)
      return url
    },
  }
}

let prompts = 0 // numbers cost nothing, and what they cost is not the store's

export function promptBody(): PromptBody {
  const message = [{ type: 'text' as const, text: 'x'.repeat(PROMPT_CHARS) }]
  return { type: 'prompt', id: `e_${prompts++}`, parent_id: null, message, origin: { kind: 'local' } }
}

export function sessionsOf(name: string, store: SessionStore): Subject {
  return {
    name,
    async lane() {
      const log = await store.create({ id: newSessionId(systemClock, systemRandom), cwd: '/work' })
      return { once: () => log.append(promptBody()), close: () => log.close() }
    },
  }
}

/** What the disk itself takes: as many bytes, one write and one `fdatasync` each. */
export function rawFdatasync(folder: string): Subject {
  const line = Buffer.alloc(LINE_BYTES, 'x')
  let files = 0
  return {
    name: 'raw-fdatasync',
    async lane() {
      const handle = await open(join(folder, `raw-${files++}`), 'w')
      let at = 0
      return {
        async once() {
          await handle.write(line, 0, line.length, at)
          at += line.length
          await handle.datasync()
        },
        close: () => handle.close(),
      }
    },
  }
}
