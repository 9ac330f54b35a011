/** Brings the schema of a database up to date: each file once, in order, in a transaction of its own. */
import { messageOf } from '@beige/protocol'
import type { Client } from 'pg'
import { fail } from '../errors.ts'
import { type Migration, readMigrations, SCHEMA_VERSION } from './migration-files.ts'

const CONNECT_MS = 10_000
const TABLE = `CREATE TABLE IF NOT EXISTS schema_migrations (
  version bigint PRIMARY KEY, name text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())`
const UNIQUE_VIOLATION = '23505'

/** `applied`: names of the files that this call brought. */
export type Migrated = { from: number; to: number; applied: readonly string[] }

/** Safe to call twice, and by two at once. Rejects with `store_unreachable`, `store_refused`, `store_schema`. */
export async function migratePostgres(url: string): Promise<Migrated> {
  const { default: pg } = await import('pg')
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: CONNECT_MS })
  client.on('error', () => {}) // the query at work rejects as well
  try {
    await client.connect()
  } catch (error) {
    throw fail('store_unreachable', { reason: messageOf(error) }, error)
  }
  try {
    return await apply(client, await readMigrations(), url)
  } finally {
    await client.end().catch(() => {}) // a connection that is gone already
  }
}

async function apply(client: Client, migrations: readonly Migration[], store: string): Promise<Migrated> {
  await ignoring(UNIQUE_VIOLATION, () => client.query(TABLE)) // two at once make it at once
  const from = await versionOf(client)
  if (from > SCHEMA_VERSION) throw fail('store_schema', { found: from, needed: SCHEMA_VERSION, store })
  const applied: string[] = []
  for (const migration of migrations) {
    if (migration.version > from && (await applyOne(client, migration))) applied.push(migration.name)
  }
  return { from, to: await versionOf(client), applied }
}

/** False when somebody else has brought it meanwhile. */
async function applyOne(client: Client, { version, name, sql }: Migration): Promise<boolean> {
  try {
    await client.query('BEGIN')
    // Waits for another one that is at it, and then fails.
    await client.query('INSERT INTO schema_migrations (version, name) VALUES ($1, $2)', [version, name])
    await client.query(sql)
    await client.query('COMMIT')
    return true
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {}) // the first error is the one to tell
    if (hasCode(error, UNIQUE_VIOLATION)) return false
    throw fail('store_refused', { reason: `${name}: ${messageOf(error)}` }, error)
  }
}

async function versionOf(client: Client): Promise<number> {
  const { rows } = await client.query('SELECT max(version) AS version FROM schema_migrations')
  return Number(rows[0]?.version ?? 0)
}

async function ignoring(code: string, action: () => Promise<unknown>): Promise<void> {
  try {
    await action()
  } catch (error) {
    if (!hasCode(error, code)) throw fail('store_refused', { reason: messageOf(error) }, error)
  }
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}
