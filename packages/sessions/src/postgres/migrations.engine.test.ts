import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { systemClock, systemRandom } from '@beige/protocol'
import { type PostgresServer, postgresMissing, startPostgres } from '@beige/test-support'
import pg from 'pg'
import { createPostgresStore } from './index.ts'
import { migratePostgres } from './migrate.ts'
import { SCHEMA_VERSION } from './migration-files.ts'

describe('migrations', { skip: postgresMissing() }, () => {
  let server: PostgresServer
  before(async () => {
    server = await startPostgres()
  })
  after(() => server[Symbol.asyncDispose]())

  test('a database is brought up to date once, whoever asks and how many at once', async () => {
    const url = await server.newDatabase()
    const all = await Promise.all(Array.from({ length: 5 }, () => migratePostgres(url)))
    assert.deepEqual(
      all.flatMap(one => one.applied),
      ['0001-sessions.sql'],
    )
    assert.deepEqual(await migratePostgres(url), { from: SCHEMA_VERSION, to: SCHEMA_VERSION, applied: [] })
  })

  test('a store refuses a schema that is missing or newer, by name', async () => {
    const url = await server.newDatabase()
    const store = createPostgresStore({ url, clock: systemClock, random: systemRandom })
    await assert.rejects(store.list({ limit: 1 }), {
      code: 'store_schema',
      data: { found: 0, needed: 1, store: url },
    })
    await migratePostgres(url)
    assert.equal((await store.list({ limit: 1 })).total, 0)
    const client = new pg.Client(url)
    await client.connect()
    await client.query("INSERT INTO schema_migrations (version, name) VALUES (99, 'later')")
    await client.end()
    const later = createPostgresStore({ url, clock: systemClock, random: systemRandom })
    await assert.rejects(later.list({ limit: 1 }), { code: 'store_schema' })
    await assert.rejects(migratePostgres(url), { code: 'store_schema' })
    await Promise.all([store.close(), later.close()])
  })

  test('one that fails leaves nothing behind', async () => {
    const url = await server.newDatabase()
    const client = new pg.Client(url)
    await client.connect()
    await client.query('CREATE TABLE records (mine int)')
    await assert.rejects(migratePostgres(url), { code: 'store_refused' })
    const { rows } = await client.query("SELECT to_regclass('sessions') AS made")
    assert.equal(rows[0].made, null)
    await client.query('DROP TABLE records')
    assert.equal((await migratePostgres(url)).to, 1)
    await client.end()
  })
})
