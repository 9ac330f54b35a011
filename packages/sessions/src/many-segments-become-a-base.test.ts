import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createFaultyDisk } from '../test/faulty-disk.ts'
import { createManualTime } from '../test/manual-time.ts'
import type { MemoryDisk } from '../test/memory-disk.ts'
import { processOn, SAMPLE_FOLDER, SAMPLE_ID, sampleLog, segmentFiles } from '../test/sample-log.ts'
import { prompt, seededRandom } from '../test/sample-records.ts'
import { MAX_SEGMENTS } from './files/base.ts'
import { createFilesStore } from './files/index.ts'

function epochsOf(disk: MemoryDisk): number[] {
  return segmentFiles(disk).map(file => file.epoch)
}

test('the owner of the ninth segment copies all lines byte for byte and removes the eight', async () => {
  const disk = await sampleLog(MAX_SEGMENTS, 'released')
  assert.equal(segmentFiles(disk).length, MAX_SEGMENTS)
  const old = segmentFiles(disk).flatMap(file => recordLines(file.bytes))
  const before = await processOn(disk, 50).store.read(SAMPLE_ID)

  const { store } = processOn(disk, 51)
  const log = await store.open(SAMPLE_ID)
  assert.deepEqual(log.records, before)
  assert.deepEqual(epochsOf(disk), [9])
  const base = segmentFiles(disk)[0]?.bytes.toString('utf8').split('\n') ?? []
  assert.deepEqual(base.slice(1, 1 + old.length), old)
  assert.equal(base[1 + old.length], '{"type":"base_end"}')
  await log.append(prompt('new', null))
  await store.close()
  const next = await processOn(disk, 52).store.open(SAMPLE_ID)
  assert.deepEqual(next.records, log.records)
  assert.deepEqual(next.damage, [])
})

test('a death anywhere in the writing of a base, or in the removal, loses nothing', async () => {
  const original = await sampleLog(MAX_SEGMENTS, 'released')
  const before = await processOn(original.copy(), 50).store.read(SAMPLE_ID)
  let deaths = 0
  for (let room = 0; ; room += 173) {
    const shared = original.copy()
    const disk = createFaultyDisk(shared)
    const time = createManualTime()
    const ticker = time.ticker()
    const parts = { root: '/sessions', disk, ticker, clock: time.clock, random: seededRandom(51) }
    disk.room = room
    const opened = await createFilesStore(parts)
      .open(SAMPLE_ID)
      .then(
        log => log.records,
        () => null,
      )
    ticker.freeze()
    if (opened) assert.deepEqual(opened, before)
    const isBaseDone = !epochsOf(shared).includes(1)
    const next = await processOn(shared, 52).store.open(SAMPLE_ID)
    const kept = next.records.filter(record => record.type !== 'damage')
    assert.deepEqual(kept, before, `room for ${room} bytes`)
    // A beginning that is cut off may as well be what is left of a whole segment, so it is told.
    for (const { reason } of next.damage)
      assert.match(reason, /^torn (header|tail)$/, `room for ${room} bytes`)
    assert.deepEqual(await processOn(shared, 53).store.read(SAMPLE_ID), next.records)
    if (isBaseDone) break
    deaths++
  }
  assert.ok(deaths > 20, `${deaths} deaths`)
})

test('segments that are older than a base and still there are no history, and go at the next opening', async () => {
  const before = await sampleLog(MAX_SEGMENTS, 'released')
  const disk = before.copy()
  const first = processOn(disk, 51)
  const log = await first.store.open(SAMPLE_ID)
  await log.append(prompt('new', null))
  await first.store.close()
  for (const { path } of segmentFiles(before).slice(3)) {
    const file = before.files.get(path)
    if (file) disk.files.set(path, file)
  }
  assert.deepEqual(await processOn(disk, 52).store.read(SAMPLE_ID), log.records)
  const next = await processOn(disk, 53).store.open(SAMPLE_ID)
  assert.deepEqual(next.records, log.records)
  assert.deepEqual(epochsOf(disk), [9, 10])
})

test('damage that was told is not told again by a base', async () => {
  const disk = await sampleLog(3, 'released')
  const file = disk.files.get(`${SAMPLE_FOLDER}/000002.jsonl`)
  assert.ok(file)
  file.bytes.fill(0, 700, 710)
  let told = 0
  for (let owner = 0; owner < 12; owner++) {
    const { store } = processOn(disk, 60 + owner)
    const log = await store.open(SAMPLE_ID)
    told += log.damage.length
    await store.close()
  }
  assert.equal(told, 1)
  assert.ok(!epochsOf(disk).includes(2), 'a base took its place')
})

function recordLines(bytes: Buffer): string[] {
  return bytes
    .toString('utf8')
    .split('\n')
    .filter(line => line.startsWith('{"seq":'))
}
