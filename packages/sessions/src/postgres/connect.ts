/** The real tables: one pool for the sessions, one connection for the heartbeat, so that work never delays it. */
import type { Clock } from '@beige/protocol'
import { fail } from '../errors.ts'
import { createDatabase, MAX_CONNECTIONS } from './database.ts'
import { SCHEMA_VERSION } from './migration-files.ts'
import { createPgReplicas, createPgTables } from './pg-tables.ts'
import type { ReplicaTable, SessionTables } from './tables.ts'

export type PostgresTables = {
  sessionsOf(tenant: string): SessionTables
  replicas: ReplicaTable
  close(): Promise<void>
}

/** Refuses, at the first call, a database whose schema is not the one that this program needs. */
export function openPostgresTables({ url, clock }: { url: string; clock: Clock }): PostgresTables {
  let isSchemaKnown = false
  const check = async (query: (text: string) => Promise<readonly Readonly<Record<string, unknown>>[]>) => {
    if (isSchemaKnown) return
    const [table] = await query("SELECT to_regclass('schema_migrations') IS NOT NULL AS is_there")
    const [row] =
      table?.is_there === true ? await query('SELECT max(version) AS version FROM schema_migrations') : []
    const found = Number(row?.version ?? 0)
    if (found !== SCHEMA_VERSION) throw fail('store_schema', { found, needed: SCHEMA_VERSION, store: url })
    isSchemaKnown = true
  }
  const work = createDatabase({ url, clock, maxConnections: MAX_CONNECTIONS, check })
  const beats = createDatabase({ url, clock, maxConnections: 1, check })
  return {
    sessionsOf: tenant => createPgTables(work, tenant, clock),
    replicas: createPgReplicas(beats),
    async close() {
      await Promise.all([work.close(), beats.close()])
    },
  }
}
