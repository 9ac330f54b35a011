/**
 * One PostgreSQL database behind a bounded pool of checked connections. Says of every failure whether the statement may
 * have been carried out; a broken or silent connection is thrown away, and never an error is left unhandled.
 */
import { type Clock, isError, messageOf } from '@beige/protocol'
import type { ClientBase, Pool, PoolClient, PoolConfig } from 'pg'
import { fail } from '../errors.ts'

export const MAX_CONNECTIONS = 16 // operations in flight a shard (service-mode.md, Limits)
const CONNECT_MS = 3000
const ANSWER_MS = 5000
const PROBE_MS = 2000
const STATEMENT_MS = 30_000 // the server's own bound; nothing here runs that long
const MAX_TRIES_IN_CONFLICT = 5

/** `name` is what the server keeps its plan under. */
export type Statement = { name: string; text: string }
export type Answer = { rows: readonly Readonly<Record<string, unknown>>[]; count: number }

export interface Database {
  /** Rejects with `store_unreachable`, `answer_lost`, `storage`, or what `check` throws. */
  run(statement: Statement, values: readonly unknown[], waitMs?: number): Promise<Answer>
  close(): Promise<void>
}

export type DatabaseParts = {
  /** `postgres://…`; user and password come from the environment of the process. */
  url: string
  clock: Clock
  maxConnections: number
  /** Of each new connection, before anything is asked over it. */
  check?: (query: (text: string) => Promise<Answer['rows']>) => Promise<void>
}

export function createDatabase(parts: DatabaseParts): Database {
  const { clock } = parts
  let pool: Promise<Pool> | null = null

  async function connected(): Promise<PoolClient> {
    pool ??= openPool(parts)
    try {
      return await (await pool).connect()
    } catch (error) {
      if (isError(error)) throw error
      throw fail(
        isRefusal(error) ? 'store_refused' : 'store_unreachable',
        { reason: messageOf(error) },
        error,
      )
    }
  }

  async function within<T>(ms: number, work: Promise<T>): Promise<T> {
    const ended = new AbortController()
    const late = clock.sleep(ms, ended.signal).then(
      () => Promise.reject(new TypeError(`no answer within ${ms} ms`)),
      () => new Promise<never>(() => {}),
    )
    try {
      return await Promise.race([work, late])
    } finally {
      ended.abort(IN_TIME) // without a reason it would make an error, with a stack, for each call
    }
  }

  /** Whether the server itself refused it: then the connection goes on, and nothing was done. */
  async function isRefused(client: PoolClient, error: unknown): Promise<boolean> {
    if (codeOf(error) === null) return false
    try {
      await within(PROBE_MS, client.query('SELECT 1'))
      return true
    } catch {
      return false
    }
  }

  async function once(statement: Statement, values: readonly unknown[], waitMs: number): Promise<Answer> {
    const client = await connected()
    let isUsable = true
    try {
      const asked = client.query({ ...statement, values: [...values] })
      asked.catch(() => {}) // of one that is too late nobody wants to know
      const { rows, rowCount } = await within(waitMs, asked)
      return { rows, count: rowCount ?? 0 }
    } catch (error) {
      isUsable = await isRefused(client, error)
      const reason = messageOf(error)
      if (isUsable) throw fail('store_refused', { reason, sqlstate: codeOf(error) }, error)
      throw fail('answer_lost', { reason }, error)
    } finally {
      client.release(!isUsable)
    }
  }

  return {
    async run(statement, values, waitMs = ANSWER_MS) {
      for (let tries = 1; ; tries++) {
        try {
          return await once(statement, values, waitMs)
        } catch (error) {
          const isConflict = isError(error, 'store_refused') && CONFLICTS.has(String(error.data.sqlstate))
          if (!isConflict || tries === MAX_TRIES_IN_CONFLICT) throw error
        }
      }
    },
    async close() {
      const closing = pool
      pool = Promise.reject(fail('store_unreachable', { reason: 'it is closed here' }))
      pool.catch(() => {})
      await (await closing?.catch(() => null))?.end()
    },
  }
}

const IN_TIME = 'answered in time'

/** Serialization failure and deadlock: carried out not at all, and to be repeated. */
const CONFLICTS: ReadonlySet<string> = new Set(['40001', '40P01'])

async function openPool({ url, maxConnections, check }: DatabaseParts): Promise<Pool> {
  const { default: pg } = await import('pg')
  const config: PoolConfig = {
    connectionString: url,
    max: maxConnections,
    connectionTimeoutMillis: CONNECT_MS,
    statement_timeout: STATEMENT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: CONNECT_MS,
    allowExitOnIdle: true,
    fallback_application_name: 'beige',
    // Awaited by the pool; what it throws is what `connect` rejects with.
    onConnect: client => prepare(client, check),
  }
  const pool = new pg.Pool(config)
  pool.on('error', () => {}) // of an idle connection, which the pool has thrown away: the next call makes another
  pool.on('connect', client => client.on('error', () => {})) // one at work: its query rejects, which is told
  return pool
}

/** What an acknowledgement rests on: the server writes before it says so (design page "Sessions", Store `postgres`). */
async function prepare(client: ClientBase, check: DatabaseParts['check']): Promise<void> {
  const { rows } = await client.query(
    "SELECT current_setting('fsync', true) AS fsync, current_setting('synchronous_commit', true) AS synchronous",
  )
  const [{ fsync = null, synchronous = null } = {}] = rows
  if (fsync === 'off') throw fail('store_unsafe', { setting: 'fsync = off' })
  if (synchronous !== null && synchronous !== 'on' && synchronous !== 'remote_apply') {
    await client.query('SET synchronous_commit = on')
  }
  await check?.(async text => (await client.query(text)).rows)
}

/** At connecting: repeating it helps only when the server is merely not ready or full. */
function isRefusal(error: unknown): boolean {
  const code = codeOf(error)
  return code !== null && /^(28|3D|42)/.test(code)
}

/** The SQLSTATE of what the server itself said. */
function codeOf(error: unknown): string | null {
  const isServers = error instanceof Error && 'code' in error && 'severity' in error
  return isServers && typeof error.code === 'string' ? error.code : null
}
