/** Rewrapping to a new key, killed anywhere and begun again; then the old key is of no use and nothing needs it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemRandom } from '@beige/protocol'
import { createFaultyDisk } from '../../test/faulty-disk.ts'
import { createManualTime } from '../../test/manual-time.ts'
import type { MemoryDisk } from '../../test/memory-disk.ts'
import {
  placedRecords,
  processOn,
  SAMPLE_FOLDER,
  SAMPLE_ID,
  sampleLog,
  sealingWith,
} from '../../test/sample-log.ts'
import { prompt, seededRandom, sessionId } from '../../test/sample-records.ts'
import { createFilesStore } from '../files/index.ts'
import { createSealing } from './sealing.ts'

const OLD = sealingWith(7)
const NEW = sealingWith(8)
const BOTH = sealingWith(8, 7)
const PLAIN = createSealing({
  tenant: 't-1',
  keys: [Buffer.alloc(32, 8)],
  random: systemRandom,
  readsPlain: true,
})

const storeOn = (disk: MemoryDisk, seed: number, sealing = NEW) =>
  processOn(disk, seed, createManualTime(), sealing).store
const bodies = (records: readonly { seq: number; type: string }[]) =>
  records
    .filter(record => record.type !== 'damage')
    .map(({ ...record }) => JSON.stringify({ ...record, prev: '' }))
const everything = (disk: MemoryDisk) =>
  [...disk.files.values()].map(file => file.bytes.toString('latin1')).join('\n')

test('every line is under the new key, which alone reads everything and goes on', async () => {
  const disk = await sampleLog(11, 'released', OLD)
  const before = await storeOn(disk, 90, OLD).read(SAMPLE_ID)
  const moved: boolean[] = []
  const store = storeOn(disk, 91, BOTH)
  assert.deepEqual(await store.rewrap(one => moved.push(one.isMoved)), { unfolded: 0 })
  await store.close()
  assert.ok(!everything(disk).includes(OLD.kid))
  const after = storeOn(disk, 92)
  assert.deepEqual(bodies(await after.read(SAMPLE_ID)), bodies(before))
  const log = await after.open(SAMPLE_ID)
  assert.deepEqual(log.damage, [])
  await log.append(prompt('new', null))
  await log.close()
  assert.equal((await storeOn(disk, 93).read(SAMPLE_ID)).length, before.length + 1)
  const again = storeOn(disk, 94, BOTH)
  await again.rewrap(one => moved.push(one.isMoved))
  assert.deepEqual(moved, [true, false])
})

test('sessions that were never sealed become so: no byte of their text is left', async () => {
  const disk = await sampleLog(3, 'killed')
  const before = await processOn(disk, 90).store.read(SAMPLE_ID)
  const store = storeOn(disk, 91, PLAIN)
  await store.rewrap()
  await store.close()
  assert.ok(!/GrÃ|"prompt"|"title"/.test(everything(disk)), 'plain text is left')
  assert.deepEqual(bodies(await storeOn(disk, 92).read(SAMPLE_ID)), bodies(before))
})

test('damage is known after it as before, its copies are sealed, and trash is moved, too', async () => {
  const disk = await sampleLog(3, 'released')
  const [hit] = placedRecords(disk).slice(-3)
  assert.ok(hit)
  disk.files.get(`${SAMPLE_FOLDER}/${hit.segment}`)?.bytes.fill(0, hit.start + 3, hit.start + 9)
  const plain = processOn(disk, 90).store
  const trashed = sessionId('s_trash')
  await (await plain.create({ id: trashed, cwd: '/secret' }, prompt('e1', null, 'thrown away'))).close()
  await plain.remove(trashed)
  await plain.close()
  const store = storeOn(disk, 91, PLAIN)
  await store.rewrap()
  await store.close()
  assert.ok(!/thrown away|secret|"prompt"/.test(everything(disk)), 'plain text is left')
  const after = storeOn(disk, 92)
  const log = await after.open(SAMPLE_ID)
  assert.deepEqual(log.damage, [])
  assert.deepEqual(
    log.records.flatMap(record => (record.type === 'damage' ? (record.seqs ?? []) : [])),
    [hit.record.seq],
  )
  await after.restore(trashed)
  assert.equal((await after.read(trashed)).length, 2)
})

test('killed at any call to the disk, it goes on where it was and loses nothing', async () => {
  const original = await sampleLog(4, 'killed', OLD)
  const before = bodies(await storeOn(original, 90, OLD).read(SAMPLE_ID))
  let calls = 0
  for (let at = 1; ; at++) {
    const disk = original.copy()
    const time = createManualTime()
    const faulty = createFaultyDisk(disk)
    calls = 0
    faulty.before = async () => {
      if (++calls >= at) throw new TypeError('killed')
    }
    const ticker = time.ticker()
    const random = seededRandom(91)
    const dying = createFilesStore({
      root: '/sessions',
      disk: faulty,
      clock: time.clock,
      random,
      ticker,
      sealing: BOTH,
    })
    const isDone = await dying.rewrap().then(
      () => true,
      () => false,
    )
    ticker.freeze()
    if (isDone) break
    assert.deepEqual(bodies(await storeOn(disk, 92, BOTH).read(SAMPLE_ID)), before, `read after call ${at}`)
    const next = processOn(disk, 93, time, BOTH).store
    await next.rewrap()
    await next.close()
    assert.ok(!everything(disk).includes(`e2.${OLD.kid}`), `old lines after call ${at}`)
    assert.deepEqual(bodies(await storeOn(disk, 94).read(SAMPLE_ID)), before, `after call ${at}`)
  }
  assert.ok(calls > 5)
})
