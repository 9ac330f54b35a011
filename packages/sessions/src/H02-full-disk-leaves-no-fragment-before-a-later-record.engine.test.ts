/** The disk fills at every byte of a session's life; the client sends again when there is room. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isError, type RecordBody, type SessionRecord } from '@beige/protocol'
import { createFaultyDisk } from '../test/faulty-disk.ts'
import { createManualTime } from '../test/manual-time.ts'
import { createMemoryDisk } from '../test/memory-disk.ts'
import { processOn, SAMPLE_ID } from '../test/sample-log.ts'
import { answer, prompt, seededRandom } from '../test/sample-records.ts'
import { createFilesStore } from './files/index.ts'
import type { SessionLog } from './store.ts'

const BATCHES: readonly (readonly RecordBody[])[] = [
  [prompt('p1', null)],
  [answer('m1', 'p1'), prompt('p2', 'm1')],
  [answer('m2', 'p2')],
]
const WANTED = ['p1', 'm1', 'p2', 'm2']
const MAX_ROOM = 4096
const KILL_STEP = 5 // each takeover waits out an expiry, which costs a few ms also in fake time

test('full at every byte: what was acknowledged is there once, in order, and the session goes on', async () => {
  let failures = 0
  for (let room = 0; room < MAX_ROOM; room++) {
    const { log, shared, disk, store, failed } = await filled(room)
    if (!failed) break
    failures++
    disk.room = Number.POSITIVE_INFINITY
    const acked = idsOf(log.records)
    for (const batch of BATCHES) {
      if (!batch.every(body => acked.includes(idOf(body)))) await log.append(...batch)
    }
    assert.deepEqual(idsOf(log.records), WANTED, `room for ${room} bytes`)
    await store.close()
    const next = await processOn(shared, 2).store.open(SAMPLE_ID)
    assert.deepEqual(idsOf(next.records), WANTED, `room for ${room} bytes`)
    assert.deepEqual(next.damage, [], `room for ${room} bytes`)
  }
  assert.ok(failures > 500, `${failures} failures`)
})

test('full and then killed: the next owner has all that was acknowledged', async () => {
  for (let room = 0; room < MAX_ROOM; room += KILL_STEP) {
    const { log, shared, failed } = await filled(room)
    if (!failed) break
    const acked = idsOf(log.records)
    const next = await processOn(shared, 2).store.open(SAMPLE_ID)
    assert.deepEqual(idsOf(next.records).slice(0, acked.length), acked, `room for ${room} bytes`)
    await next.append(prompt('more', null))
    assert.equal(idsOf(await processOn(shared, 3).store.read(SAMPLE_ID)).at(-1), 'more')
  }
})

test('a session that waits for room for long does not fill the folder with segments', async () => {
  const { log, disk, shared } = await filled(900)
  for (let tries = 0; tries < 100; tries++)
    await assert.rejects(log.append(prompt('again', null)), { code: 'storage' })
  const segments = [...shared.files.keys()].filter(
    path => path.endsWith('.jsonl') && path.includes(SAMPLE_ID),
  )
  assert.ok(segments.length <= 3, segments.join(' '))
  disk.room = Number.POSITIVE_INFINITY
  await log.append(prompt('again', null))
})

/** A session on a disk that had room for `room` bytes after the creation; `failed` when that was not enough. */
async function filled(room: number) {
  const shared = createMemoryDisk()
  const disk = createFaultyDisk(shared)
  const time = createManualTime()
  const ticker = time.ticker()
  const store = createFilesStore({
    root: '/sessions',
    disk,
    ticker,
    clock: time.clock,
    random: seededRandom(1),
  })
  const log = await store.create({ id: SAMPLE_ID, cwd: '/w' })
  disk.room = room
  let failed = false
  for (const batch of BATCHES) failed = !(await isAcked(log, batch)) || failed
  if (failed) ticker.freeze()
  return { log, shared, disk, store, failed }
}

async function isAcked(log: SessionLog, batch: readonly RecordBody[]): Promise<boolean> {
  const before = log.records.length
  try {
    await log.append(...batch)
    return true
  } catch (error) {
    assert.ok(isError(error, 'storage'), String(error))
    assert.equal(log.records.length, before, 'what was refused is no record')
    return false
  }
}

function idsOf(records: readonly SessionRecord[]): string[] {
  return records.map(idOf).filter(id => id !== '')
}

function idOf(body: RecordBody | SessionRecord): string {
  return body.type === 'prompt' || body.type === 'message' ? body.id : ''
}
