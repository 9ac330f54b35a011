/** Store `postgres` over a server that restarts and a network that cuts: nothing acknowledged is lost, nothing comes twice. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { isError, systemClock, systemRandom } from '@beige/protocol'
import {
  type PostgresServer,
  postgresMissing,
  startPostgres,
  startTcpProxy,
  type TcpProxy,
} from '@beige/test-support'
import { prompt, seededNumbers, sessionId } from '../../test/sample-records.ts'
import type { SessionLog, SessionStore } from '../store.ts'
import { createPostgresShard, createPostgresStore } from './index.ts'
import { migratePostgres } from './migrate.ts'

const A = sessionId('s_A')
const FIRST = { id: A, cwd: '/w' }
const LATE_MS = 20_000
const skip = postgresMissing()

describe('store postgres when its database fails', { skip }, () => {
  let server: PostgresServer
  let url: string
  before(async () => {
    server = await startPostgres()
    url = await server.newDatabase()
    await migratePostgres(url)
  })
  after(() => server[Symbol.asyncDispose]())

  type Setting = { direct: SessionStore; through: SessionStore; proxy: TcpProxy }

  /** `through` reaches the database by a proxy; both have an empty database. */
  async function withProxy(run: (setting: Setting) => Promise<void>): Promise<void> {
    const own = await server.newDatabase()
    await migratePostgres(own)
    await using proxy = await startTcpProxy(server.port)
    const direct = storeAt(own)
    const through = storeAt(server.urlThrough(proxy.port, own))
    try {
      await run({ direct, through, proxy })
    } finally {
      proxy.mode = 'refuse'
      proxy.cut('both')
      await Promise.all([direct.close(), through.close()])
    }
  }

  const idsOf = async (store: SessionStore) =>
    (await store.read(A)).flatMap(record => (record.type === 'prompt' ? [record.id] : []))

  test('a commit whose answer was lost is found and acknowledged, not written again', () =>
    withProxy(async ({ direct, through, proxy }) => {
      const log = await through.create(FIRST)
      proxy.mode = 'deaf'
      const append = log.append(prompt('e1', null))
      await written(direct, 2)
      proxy.mode = 'pass'
      proxy.cut('client')
      await append
      await log.append(prompt('e2', null))
      assert.deepEqual(await idsOf(direct), ['e1', 'e2'])
    }))

  test('a creation whose answer was lost is made once', () =>
    withProxy(async ({ direct, through, proxy }) => {
      await through.create({ id: 's_other', cwd: '/w' })
      proxy.mode = 'deaf'
      const creation = through.create(FIRST)
      await until(() => direct.exists(A))
      proxy.mode = 'pass'
      proxy.cut('client')
      const log = await creation
      assert.equal(log.epoch, 1)
      await log.append(prompt('e1', null))
      assert.deepEqual(await idsOf(direct), ['e1'])
    }))

  test('a takeover whose answer was lost is one takeover', () =>
    withProxy(async ({ direct, through, proxy }) => {
      await (await direct.create(FIRST, prompt('e1', null))).close()
      await through.exists(A)
      const heard = (async () => {
        for (let count = 0; count < 5; count++) await proxy.nextRequest()
        proxy.cut('client') // somewhere among its statements
      })()
      const log = await through.open(A)
      await heard
      assert.equal(log.epoch, 2)
      await log.append(prompt('e2', null))
      assert.deepEqual(await idsOf(direct), ['e1', 'e2'])
    }))

  test('a write that was under way when its owner was given up arrives after the takeover and is no history', () =>
    withProxy(async ({ direct, through, proxy }) => {
      const log = await through.create(FIRST)
      await log.append(prompt('e1', null))
      proxy.mode = 'silent'
      const late = proxy.nextRequest()
      const lost = assert.rejects(log.append(prompt('ghost', null)), {
        code: /^(outcome_unknown|session_superseded)$/,
      })
      await late
      const successor = await direct.open(A)
      await successor.append(prompt('e2', null))
      proxy.flush()
      proxy.mode = 'pass'
      await lost
      await assert.rejects(log.append(prompt('ghost2', null)), { code: 'session_superseded' })
      assert.equal(isError(log.lost.reason, 'session_superseded'), true)
      await successor.append(prompt('e3', null))
      assert.deepEqual(await idsOf(direct), ['e1', 'e2', 'e3'])
    }))

  test('a database that is silent for long: the outcome is said to be unknown, and is seen by opening again', () =>
    withProxy(async ({ direct, through, proxy }) => {
      const log = await through.create(FIRST)
      proxy.mode = 'deaf'
      await assert.rejects(log.append(prompt('e1', null)), { code: 'outcome_unknown', retryable: true })
      await assert.rejects(log.append(prompt('e2', null)), { code: 'outcome_unknown' })
      proxy.mode = 'pass'
      const again = await through.open(A)
      assert.deepEqual(await idsOf(direct), ['e1'])
      await again.append(prompt('e2', null))
      assert.deepEqual(await idsOf(direct), ['e1', 'e2'])
    }))

  test('a database that can not be reached: nothing is written, the session stays and goes on when it can', () =>
    withProxy(async ({ direct, through, proxy }) => {
      const log = await through.create(FIRST)
      await log.append(prompt('e1', null))
      await systemClock.sleep(50)
      proxy.mode = 'refuse'
      proxy.cut('both')
      await systemClock.sleep(50)
      await assert.rejects(log.append(prompt('e2', null)), { code: /^(storage|outcome_unknown)$/ })
      proxy.mode = 'pass'
      if (!log.lost.aborted) await log.append(prompt('e3', null))
      assert.ok((await idsOf(direct)).includes('e1'))
    }))

  test('restarts under load, in order and by a crash: what was acknowledged is there once, in order', async () => {
    const own = await server.newDatabase()
    await migratePostgres(own)
    const store = storeAt(own)
    const logs = await Promise.all(['s_1', 's_2', 's_3', 's_4'].map(id => store.create({ id, cwd: '/w' })))
    const stop = new AbortController()
    const acked = Promise.all(logs.map(log => appendUntil(log, stop.signal)))
    for (const how of ['fast', 'crash', 'crash'] as const) {
      await systemClock.sleep(300)
      await server.stop(how)
      await systemClock.sleep(200)
      await server.start()
    }
    await systemClock.sleep(300)
    stop.abort()
    for (const [index, ids] of (await acked).entries()) {
      const id = logs[index]?.id ?? A
      const records = await store.read(id)
      const found = records.flatMap(record => (record.type === 'prompt' ? [record.id] : []))
      assert.deepEqual(found, ids, id)
      assert.ok(ids.length > 10)
    }
    await store.close()
  })

  test('any cut at any time: nothing acknowledged is lost, nothing is there twice', async t => {
    const seed = Number(process.env.SEED ?? Date.now() % 100_000)
    t.diagnostic(`SEED=${seed}`)
    const random = seededNumbers(seed)
    await withProxy(async ({ direct, through, proxy }) => {
      const log = await through.create(FIRST)
      const stop = new AbortController()
      const acked = appendUntil(log, stop.signal)
      for (let round = 0; round < 60; round++) {
        await systemClock.sleep(random() * 30)
        proxy.mode = (['pass', 'silent', 'deaf', 'refuse'] as const)[Math.floor(random() * 4)] ?? 'pass'
        await systemClock.sleep(random() * 30)
        if (proxy.mode === 'deaf' || random() < 0.5) proxy.cut(random() < 0.5 ? 'client' : 'both')
        proxy.flush()
        proxy.mode = 'pass'
      }
      stop.abort()
      const ids = await acked
      const found = await idsOf(direct)
      assert.deepEqual(found, ids)
      assert.ok(ids.length > 0)
    })
  })

  test('an owner that hears nothing of its database for 2.5 s gives everything up before others may take over', async () => {
    const own = await server.newDatabase()
    await migratePostgres(own)
    await using proxy = await startTcpProxy(server.port)
    let fenced = 0
    const shard = createPostgresShard({
      url: server.urlThrough(proxy.port, own),
      clock: systemClock,
      random: systemRandom,
      selfFenced: () => fenced++,
    })
    const log = await shard.store('t').create(FIRST)
    proxy.mode = 'silent'
    await new Promise(resolve => log.lost.addEventListener('abort', resolve))
    assert.equal(isError(log.lost.reason, 'self_fenced'), true)
    await assert.rejects(log.append(prompt('e1', null)), { code: 'self_fenced' })
    assert.equal(fenced, 1)
    proxy.mode = 'pass'
    proxy.cut('both')
    const again = await shard.store('t').open(A)
    await again.append(prompt('e2', null))
    await shard.close()
  })

  test('a paused server is waited for', { timeout: LATE_MS }, async () => {
    const store = storeAt(url)
    const log = await store.create({ id: 's_paused', cwd: '/w' })
    server.pause()
    const append = log.append(prompt('e1', null))
    await systemClock.sleep(1500)
    server.resume()
    await append
    assert.equal((await store.read(log.id)).length, 2)
    await store.close()
  })

  test('a server that does not write before it answers is refused', async () => {
    await using unsafe = await startPostgres(['fsync=off'])
    await migratePostgres(unsafe.url)
    const store = storeAt(unsafe.url)
    await assert.rejects(store.create(FIRST), { code: 'store_unsafe' })
    await store.close()
    await unsafe.stop('fast')
    await unsafe.start(['synchronous_commit=off'])
    const again = storeAt(unsafe.url)
    await (await again.create(FIRST, prompt('e1', null))).close()
    await unsafe.stop('crash')
    await unsafe.start()
    assert.deepEqual(await idsOf(again), ['e1'])
    await again.close()
  })
})

function storeAt(url: string): SessionStore {
  return createPostgresStore({ url, clock: systemClock, random: systemRandom })
}

/** One after the other; the ids that were acknowledged. A rejection ends the test. */
async function appendUntil(log: SessionLog, signal: AbortSignal): Promise<string[]> {
  const ids: string[] = []
  while (!signal.aborted) {
    const id = `e${ids.length}`
    await log.append(prompt(id, null))
    ids.push(id)
  }
  return ids
}

async function written(store: SessionStore, count: number): Promise<void> {
  await until(async () => (await store.read(A)).length >= count)
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  const deadline = AbortSignal.timeout(LATE_MS)
  while (!(await isSo())) await systemClock.sleep(10, deadline)
}
