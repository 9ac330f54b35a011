import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isError } from '@beige/protocol'
import { createFaultyDisk } from '../test/faulty-disk.ts'
import { createManualTime } from '../test/manual-time.ts'
import { createMemoryDisk } from '../test/memory-disk.ts'
import { processOn, SAMPLE_ID } from '../test/sample-log.ts'
import { prompt, seededRandom } from '../test/sample-records.ts'
import { createFilesStore } from './files/index.ts'

async function sessionOnFaultyDisk() {
  const shared = createMemoryDisk()
  const disk = createFaultyDisk(shared)
  const time = createManualTime()
  const parts = { root: '/sessions', disk, clock: time.clock, random: seededRandom(1), ticker: time.ticker() }
  const store = createFilesStore(parts)
  return { shared, disk, store, log: await store.create({ id: SAMPLE_ID, cwd: '/w' }) }
}

test('a full disk is told each time, to every waiting caller, until there is room', async () => {
  const { disk, log, shared } = await sessionOnFaultyDisk()
  disk.room = 10
  for (let tries = 0; tries < 3; tries++) {
    const results = await Promise.allSettled(['a', 'b'].map(id => log.append(prompt(id, null))))
    for (const result of results) {
      assert.ok(result.status === 'rejected' && isError(result.reason, 'storage') && result.reason.retryable)
      assert.match(result.reason.message, /ENOSPC/)
    }
    assert.equal(log.records.length, 1)
  }
  disk.room = Number.POSITIVE_INFINITY
  await log.append(prompt('c', null))
  const records = await processOn(shared, 2).store.read(SAMPLE_ID)
  assert.deepEqual(records, log.records)
  assert.deepEqual(
    records.map(record => record.type),
    ['session', 'prompt'],
  )
})

test('a sync that failed is not believed when it succeeds later: the batch is written anew in the next epoch', async () => {
  const { disk, log, shared, store } = await sessionOnFaultyDisk()
  disk.failingSyncs = 1
  await log.append(prompt('a', null))
  assert.equal(log.epoch, 2)
  await log.append(prompt('b', null))
  await store.close()
  const next = await processOn(shared, 2).store.open(SAMPLE_ID)
  assert.equal(next.epoch, 3)
  assert.deepEqual(next.records, log.records)
  assert.deepEqual(next.damage, [])
  assert.deepEqual(
    next.records.map(record => [record.seq, record.epoch]),
    [
      [1, 1],
      [2, 2],
      [3, 2],
    ],
  )
})

test('a disk whose syncs all fail acknowledges nothing', async () => {
  const { disk, log, shared } = await sessionOnFaultyDisk()
  disk.failingSyncs = Number.POSITIVE_INFINITY
  await assert.rejects(log.append(prompt('a', null)), { code: 'storage' })
  disk.failingSyncs = 0
  await log.append(prompt('b', null))
  const ids = (await processOn(shared, 2).store.read(SAMPLE_ID)).map(
    record => record.type === 'prompt' && record.id,
  )
  assert.deepEqual(ids, [false, 'b'])
})
