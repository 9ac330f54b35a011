/** Which store keeps the sessions: `files`, `memory` or a PostgreSQL database (agent-cli.md, Sessions). */
import type { Clock, Random } from '@beige/protocol'
import {
  createFilesStore,
  createMemoryStore,
  createPostgresStore,
  type Sealing,
  type SessionStore,
} from '@beige/sessions'
import { fail } from './errors.ts'

export type StoreChoice = { kind: 'files' } | { kind: 'memory' } | { kind: 'postgres'; url: string }

/** As commander gives them. */
export type RawStoreOptions = { store?: string; sessionDir?: string; sessionPersistence?: boolean }

export function storeChoice(
  raw: RawStoreOptions,
  variable: (name: string) => string | undefined,
): StoreChoice {
  if (raw.sessionPersistence === false) {
    if (raw.store === undefined || raw.store === 'memory') return { kind: 'memory' }
    throw contradiction('--no-session-persistence', '--store')
  }
  const choice = parsed(raw.store ?? variable('STORE') ?? 'files')
  if (choice.kind === 'postgres' && raw.sessionDir !== undefined && raw.store !== undefined) {
    throw contradiction('--session-dir', '--store')
  }
  // A flag says more than a variable: whoever names a folder means the files in it.
  return choice.kind !== 'files' && raw.sessionDir !== undefined && raw.store === undefined
    ? { kind: 'files' }
    : choice
}

/** Where sessions are, for people; never with a password. */
export function storeName(choice: StoreChoice, sessionDir: string): string {
  if (choice.kind === 'postgres') return choice.url
  return choice.kind === 'memory' ? 'memory' : sessionDir
}

export function openStore(
  choice: StoreChoice,
  sessionDir: string,
  outside: { clock: Clock; random: Random },
  sealing: Sealing | null = null,
): SessionStore {
  const { clock, random } = outside
  const sealed = sealing ? { sealing, tenant: sealing.tenant } : {}
  switch (choice.kind) {
    case 'files':
      return createFilesStore({ root: sessionDir, clock, random, ...sealed })
    case 'memory':
      return createMemoryStore({ clock, random })
    case 'postgres':
      return createPostgresStore({ url: choice.url, clock, random, ...sealed })
  }
}

/** Throws `bad_value`; a password is not repeated in it. */
export function parsed(text: string): StoreChoice {
  if (text === 'files' || text === 'memory') return { kind: text }
  if (!/^postgres(ql)?:\/\//.test(text)) throw bad(`${JSON.stringify(text)} is no store`)
  const url = URL.parse(text.replace('@/', '@localhost/').replace(/^(\w+):\/\/\//, '$1://localhost/'))
  if (!url) throw bad('the URL of the database can not be read')
  if (url.password !== '' || url.searchParams.has('password')) {
    throw bad('a URL that holds a password is seen by every process; use PGPASSWORD or PGPASSFILE')
  }
  if (url.pathname.length < 2) throw bad('the URL names no database')
  return { kind: 'postgres', url: text }
}

function bad(reason: string): Error {
  return fail('bad_value', { name: '--store', reason, expected: 'files, memory or postgres://host/database' })
}

function contradiction(name: string, other: string): Error {
  return fail('bad_value', { name, reason: `it contradicts ${other}`, expected: 'one of them' })
}
