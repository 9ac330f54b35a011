import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createFaultyDisk } from '../test/faulty-disk.ts'
import { createManualTime } from '../test/manual-time.ts'
import { createMemoryDisk } from '../test/memory-disk.ts'
import { processOn, SAMPLE_FOLDER, SAMPLE_ID, sampleLog } from '../test/sample-log.ts'
import { prompt, seededRandom } from '../test/sample-records.ts'
import { createFilesStore } from './files/index.ts'

test('a creation that did not fit leaves nothing, and works when there is room', async () => {
  for (let room = 0; room < 500; room += 7) {
    const shared = createMemoryDisk()
    const disk = createFaultyDisk(shared)
    const time = createManualTime()
    const parts = {
      root: '/sessions',
      disk,
      clock: time.clock,
      random: seededRandom(1),
      ticker: time.ticker(),
    }
    const store = createFilesStore(parts)
    disk.room = room
    const created = await store.create({ id: SAMPLE_ID, cwd: '/w' }).then(
      () => true,
      () => false,
    )
    if (created) break
    assert.equal(await store.exists(SAMPLE_ID), false)
    assert.equal((await store.list({ limit: 1 })).total, 0)
    disk.room = Number.POSITIVE_INFINITY
    const log = await store.create({ id: SAMPLE_ID, cwd: '/w' })
    await log.append(prompt('p', null))
    assert.equal(log.records.length, 2)
  }
})

test('a creation that was killed on the way leaves an id that can be created', async () => {
  const whole = (await sampleLog(1, 'killed')).files.get(`${SAMPLE_FOLDER}/000001.jsonl`)?.bytes
  assert.ok(whole)
  const headerEnd = whole.indexOf('\n') + 1
  for (const length of [0, 1, headerEnd - 1, headerEnd, headerEnd + 50]) {
    const disk = createMemoryDisk()
    await disk.makeDirectory('/sessions')
    await disk.makeDirectory(SAMPLE_FOLDER)
    await (await disk.create(`${SAMPLE_FOLDER}/000001.jsonl`))?.write(whole.subarray(0, length), 0)
    const { store } = processOn(disk, 2)
    assert.equal(await store.exists(SAMPLE_ID), false, `${length} bytes`)
    await assert.rejects(store.open(SAMPLE_ID), { code: 'not_found' })
    const log = await store.create({ id: SAMPLE_ID, cwd: '/w' })
    assert.deepEqual(
      log.records.map(record => [record.seq, record.type]),
      [[1, 'session']],
    )
    await store.close()
    assert.deepEqual((await processOn(disk, 3).store.open(SAMPLE_ID)).records, log.records)
  }
})

test('a disk that is full when a session is opened refuses the opening and harms nothing', async () => {
  const shared = await sampleLog(2, 'released')
  const before = await processOn(shared, 5).store.read(SAMPLE_ID)
  const disk = createFaultyDisk(shared)
  const time = createManualTime()
  const parts = { root: '/sessions', disk, clock: time.clock, random: seededRandom(9), ticker: time.ticker() }
  const store = createFilesStore(parts)
  disk.room = 0
  await assert.rejects(store.open(SAMPLE_ID), { code: 'storage' })
  assert.deepEqual(await store.read(SAMPLE_ID), before)
  disk.room = Number.POSITIVE_INFINITY
  const log = await store.open(SAMPLE_ID)
  assert.deepEqual(log.records, before)
})
