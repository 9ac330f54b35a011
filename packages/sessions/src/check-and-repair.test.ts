/** What `check` says of a damaged log, and that `repair` leaves out exactly what is damaged. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createManualTime } from '../test/manual-time.ts'
import type { MemoryDisk } from '../test/memory-disk.ts'
import {
  placedRecords,
  processOn,
  SAMPLE_FOLDER,
  SAMPLE_ID,
  sampleLog,
  segmentFiles,
} from '../test/sample-log.ts'
import { checkFolder } from './files/check.ts'

async function damagedLog(): Promise<{ disk: MemoryDisk; lost: number }> {
  const disk = await sampleLog(3, 'released')
  const placed = placedRecords(disk)
  const hit = placed[placed.length - 4]
  assert.ok(hit)
  const file = disk.files.get(`${SAMPLE_FOLDER}/${hit.segment}`)
  assert.ok(file)
  file.bytes.fill(0, hit.start + 20, hit.start + 40)
  return { disk, lost: hit.record.seq }
}
const problems = async (disk: MemoryDisk) => (await checkFolder(disk, SAMPLE_FOLDER, SAMPLE_ID))?.problems
const summary = async (disk: MemoryDisk) =>
  (await problems(disk))?.map(({ reason, seqs, isTold, isLeftOut }) => ({ reason, seqs, isTold, isLeftOut }))

test('a whole log has no problems, and no folder has no report', async () => {
  const disk = await sampleLog(4, 'released')
  const report = await checkFolder(disk, SAMPLE_FOLDER, SAMPLE_ID)
  assert.deepEqual([report?.problems, report?.quarantines], [[], []])
  assert.equal(report?.records.length, placedRecords(disk).length)
  assert.equal(await checkFolder(disk, '/sessions/nothing', SAMPLE_ID), null)
})

test('check names what is damaged and changes nothing', async () => {
  const { disk, lost } = await damagedLog()
  const before = segmentFiles(disk).map(file => file.bytes.toString('hex'))
  const found = { reason: 'unreadable', seqs: [lost], isLeftOut: false }
  assert.deepEqual(await summary(disk), [{ ...found, isTold: false }])
  assert.deepEqual(
    segmentFiles(disk).map(file => file.bytes.toString('hex')),
    before,
  )
  await (await processOn(disk, 9).store.open(SAMPLE_ID)).close()
  assert.deepEqual(await summary(disk), [{ ...found, isTold: true }])
})

for (const isTold of [false, true]) {
  test(`repair leaves damaged bytes out, ${isTold ? 'told before' : 'not yet told'}; all else stays`, async () => {
    const { disk, lost } = await damagedLog()
    const time = createManualTime()
    const { store } = processOn(disk, 7, time)
    if (isTold) await (await store.open(SAMPLE_ID)).close()
    const before = (await store.read(SAMPLE_ID)).filter(record => record.type !== 'damage')
    await (await store.open(SAMPLE_ID, { rewrite: 'repaired' })).close()
    assert.equal(segmentFiles(disk).length, 1)
    assert.deepEqual(
      (await store.read(SAMPLE_ID)).filter(record => record.type !== 'damage'),
      before,
    )
    const report = await checkFolder(disk, SAMPLE_FOLDER, SAMPLE_ID)
    assert.deepEqual(
      report?.problems.map(({ seqs, isTold: told, isLeftOut }) => ({ seqs, told, isLeftOut })),
      [{ seqs: [lost], told: true, isLeftOut: true }],
    )
    assert.equal(report?.quarantines.length, 1)
    const again = await store.open(SAMPLE_ID)
    assert.deepEqual(again.damage, [])
  })
}

test('repair of a log with a second copy of a record and a torn tail', async () => {
  const disk = await sampleLog(2, 'killed')
  const [first, last] = [placedRecords(disk)[2], segmentFiles(disk).at(-1)]
  assert.ok(first && last)
  const copy = segmentFiles(disk)[0]?.bytes.subarray(first.start, first.end) ?? Buffer.alloc(0)
  const file = disk.files.get(last.path)
  assert.ok(file)
  file.bytes = Buffer.concat([file.bytes, copy, Buffer.from('{"seq":')])
  const { store } = processOn(disk, 8)
  const before = await store.read(SAMPLE_ID)
  const log = await store.open(SAMPLE_ID, { rewrite: 'repaired' })
  assert.deepEqual(log.records.slice(0, before.length), before)
  await log.close()
  const text = segmentFiles(disk)
    .map(one => one.bytes.toString('latin1'))
    .join('')
  assert.equal(text.split(`"seq":${first.record.seq},`).length, 2)
  const found = await problems(disk)
  assert.ok(
    found?.every(one => one.isTold && one.isLeftOut),
    JSON.stringify(found),
  )
})
