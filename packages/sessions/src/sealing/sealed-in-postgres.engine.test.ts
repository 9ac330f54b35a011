/** Sealed sessions in a real database: moving them to a key, losing it, and every byte that the server wrote. */
import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { systemClock, systemRandom } from '@beige/protocol'
import { type PostgresServer, postgresMissing, startPostgres } from '@beige/test-support'
import pg from 'pg'
import { answer, finished, prompt, sessionId, started } from '../../test/sample-records.ts'
import { createPostgresStore } from '../postgres/index.ts'
import { migratePostgres } from '../postgres/migrate.ts'
import type { RewrappableStore } from '../store.ts'
import { createSealing } from './sealing.ts'

const skip = postgresMissing()
let server: PostgresServer | null = null
before(async () => {
  if (!skip) server = await startPostgres()
})
after(() => server?.[Symbol.asyncDispose]())

const A = sessionId('s_a')
const TRASHED = sessionId('s_trash')
const key = (byte: number) => Buffer.alloc(32, byte)

async function database(): Promise<string> {
  assert.ok(server)
  const url = await server.newDatabase()
  await migratePostgres(url)
  return url
}

async function withStore<T>(
  url: string,
  keys: readonly Uint8Array[],
  use: (store: RewrappableStore) => Promise<T>,
  readsPlain = false,
): Promise<T> {
  const sealing = createSealing({ tenant: 't', keys, random: systemRandom, readsPlain })
  const parts = { url, clock: systemClock, random: systemRandom, tenant: 't' }
  const store = createPostgresStore(keys.length === 0 ? parts : { ...parts, sealing })
  try {
    return await use(store)
  } finally {
    await store.close()
  }
}

async function fill(store: RewrappableStore, mark: (name: string) => string): Promise<void> {
  const first = { id: A, cwd: '/w', title: mark('title'), meta: { note: mark('meta') } }
  const log = await store.create(first, prompt('e1', null, mark('prompt')))
  await log.append(answer('e2', 'e1', ['c1'], mark('answer')), started('c1'), finished('c1', mark('result')))
  await log.close()
  await (await store.create({ id: TRASHED, cwd: '/w' }, prompt('e1', null, mark('trashed')))).close()
  await store.remove(TRASHED)
}

const bodies = (records: readonly object[]) => records.map(record => JSON.stringify({ ...record, prev: '' }))

test('from plain to a key, to another key: the same records, in the trash too, and the fence holds', {
  skip,
}, async () => {
  const url = await database()
  const plain = createPostgresStore({ url, clock: systemClock, random: systemRandom, tenant: 't' })
  await fill(plain, name => `MARK-${name}`)
  const original = bodies(await plain.read(A))
  await plain.close()

  await withStore(url, [key(1)], store => assert.rejects(store.read(A), { code: 'not_sealed' }))
  const moved: [string, boolean][] = []
  const tell = (one: { id: string; isMoved: boolean }) => moved.push([one.id, one.isMoved])
  await withStore(url, [key(1)], store => store.rewrap(tell), true)
  assert.deepEqual(moved.splice(0), [
    ['s_a', true],
    ['s_trash', true],
  ])
  const client = new pg.Client(url)
  await client.connect()
  const columns = 'SELECT title, meta, search, line FROM sessions LEFT JOIN records ON session = id'
  const all = JSON.stringify(
    (await client.query(columns)).rows.map(row => ({ ...row, line: String(row.line) })),
  )
  await client.end()
  assert.ok(!/mark/i.test(all), 'plain text is left in a column')

  await withStore(url, [key(2)], store => assert.rejects(store.rewrap(), { code: 'no_key' }))
  await withStore(url, [key(2), key(1)], store => store.rewrap(tell))
  await withStore(url, [key(2), key(1)], store => store.rewrap(tell))
  assert.deepEqual(
    moved.map(([, isMoved]) => isMoved),
    [true, true, false, false],
  )
  await withStore(url, [key(1)], store => assert.rejects(store.open(A), { code: 'no_key' }))
  await withStore(url, [key(2)], async store => {
    assert.deepEqual(bodies(await store.read(A)), original)
    assert.deepEqual(
      (await store.list({ limit: 9, text: 'mark-TITLE' })).rows.map(row => [row.id, row.title, row.meta]),
      [['s_a', 'MARK-title', { note: 'MARK-meta' }]],
    )
    const log = await store.open(A)
    assert.deepEqual(log.damage, [])
    await log.append({ type: 'run_end', run_id: 'e1', outcome: 'done', steps: 1 })
    await withStore(url, [key(3), key(2)], other => assert.rejects(other.rewrap(), { code: 'session_busy' }))
    await log.close()
    assert.equal((await store.read(A)).length, original.length + 1)
    await store.restore(TRASHED)
    assert.equal((await store.read(TRASHED)).length, 2)
  })
})

test('a line that is damaged is told, its copy is sealed, and the rest moves', { skip }, async () => {
  const url = await database()
  await withStore(url, [key(1)], store => fill(store, name => name))
  const client = new pg.Client(url)
  await client.connect()
  await client.query(
    `UPDATE records SET line = set_byte(line, 60, CASE get_byte(line, 60) WHEN 65 THEN 66 ELSE 65 END) WHERE session = 's_a' AND seq = 4`,
  )
  await withStore(url, [key(1)], async store => {
    const log = await store.open(A)
    assert.deepEqual(
      log.damage.map(one => one.seqs),
      [[4]],
    )
    await log.close()
  })
  await withStore(url, [key(2), key(1)], store => store.rewrap())
  const { rows } = await client.query('SELECT line FROM quarantine')
  await client.end()
  assert.match(String(rows[0]?.line), /^l2\.[0-9a-f]{8}:/)
  await withStore(url, [key(2)], async store => {
    const log = await store.open(A)
    assert.deepEqual(log.damage, [])
    assert.deepEqual(
      log.records.map(record => [record.seq, record.type]),
      [
        [1, 'session'],
        [2, 'prompt'],
        [3, 'message'],
        [5, 'tool_finished'],
        [6, 'damage'],
      ],
    )
    await log.close()
  })
})

test('every byte that the server wrote, its write-ahead log too, is without a word of a sealed session', {
  skip,
}, async () => {
  assert.ok(server)
  const url = await database()
  await withStore(url, [key(7)], store => fill(store, name => `ERASED-${name}-größe`))
  const other = createPostgresStore({ url, clock: systemClock, random: systemRandom, tenant: 'plain' })
  await (await other.create({ id: sessionId('s_p'), cwd: '/w', title: 'SEEN-title' })).close()
  await other.close()
  await server.stop('fast')
  const folder = new URL(server.url.replace('@/', '@localhost/')).searchParams.get('host') ?? ''
  const entries = await readdir(join(folder, 'data'), { recursive: true, withFileTypes: true })
  let isSeen = false
  for (const entry of entries.filter(one => one.isFile())) {
    const bytes = await readFile(join(entry.parentPath, entry.name))
    isSeen ||= bytes.includes('SEEN-title')
    for (const form of [
      'ERASED',
      'erased',
      Buffer.from('ERASED').toString('hex'),
      Buffer.from('ERASED-').toString('base64').slice(0, 8),
    ])
      assert.equal(bytes.indexOf(form), -1, `${form} in ${entry.name}`)
  }
  assert.ok(isSeen, 'the plain one is not seen where it is')
})
