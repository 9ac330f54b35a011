import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createManualTime } from '../test/manual-time.ts'
import { createMemoryDisk } from '../test/memory-disk.ts'
import { processOn, SAMPLE_ID } from '../test/sample-log.ts'
import { EXPIRY_MS, HEARTBEAT_MS, WATCH_MS } from './incarnation.ts'

test('a dead owner is waited out once, said aloud, and then taken over', async () => {
  const disk = createMemoryDisk()
  const time = createManualTime()
  const dead = processOn(disk, 1, time)
  await dead.store.create({ id: SAMPLE_ID, cwd: '/w' })
  dead.kill()
  const told: number[] = []
  const begin = time.clock.monotonic()
  const log = await processOn(disk, 2, time).store.open(SAMPLE_ID, {
    waiting: ({ atMostMs }) => told.push(atMostMs),
  })
  const waited = time.clock.monotonic() - begin
  assert.ok(waited >= EXPIRY_MS && waited <= EXPIRY_MS + WATCH_MS, `${waited} ms`)
  assert.deepEqual(told, [EXPIRY_MS])
  assert.equal(log.epoch, 2)
})

test('a live owner shows itself within one heartbeat', async () => {
  const disk = createMemoryDisk()
  const time = createManualTime()
  await processOn(disk, 1, time).store.create({ id: SAMPLE_ID, cwd: '/w' })
  await time.advance(HEARTBEAT_MS * 5)
  const begin = time.clock.monotonic()
  await assert.rejects(processOn(disk, 2, time).store.open(SAMPLE_ID), { code: 'session_busy' })
  assert.ok(time.clock.monotonic() - begin <= HEARTBEAT_MS + 2 * WATCH_MS)
})

test('whoever watched a dead owner before does not wait again', async () => {
  const disk = createMemoryDisk()
  const time = createManualTime()
  const dead = processOn(disk, 1, time)
  for (const id of ['s_1', 's_2']) await dead.store.create({ id, cwd: '/w' })
  dead.kill()
  const { store } = processOn(disk, 2, time)
  const [first, second] = (await store.list({ limit: 2 })).rows
  assert.ok(first && second)
  await store.open(first.id)
  const begin = time.clock.monotonic()
  await store.open(second.id)
  assert.equal(time.clock.monotonic(), begin)
})

test('a wait can be ended', async () => {
  const disk = createMemoryDisk()
  const time = createManualTime()
  const dead = processOn(disk, 1, time)
  await dead.store.create({ id: SAMPLE_ID, cwd: '/w' })
  dead.kill()
  const controller = new AbortController()
  const { store } = processOn(disk, 2, time)
  const opening = store.open(SAMPLE_ID, { signal: controller.signal, waiting: () => controller.abort() })
  await assert.rejects(opening, { name: 'AbortError' })
  assert.equal((await store.open(SAMPLE_ID)).epoch, 2)
})

test('an owner that the store itself let go of without a word is taken back at once', async () => {
  const disk = createMemoryDisk()
  const time = createManualTime()
  const { store } = processOn(disk, 1, time)
  await (await store.create({ id: SAMPLE_ID, cwd: '/w' })).close()
  const file = disk.files.get(`/sessions/${SAMPLE_ID}/000001.jsonl`)
  assert.ok(file)
  file.bytes = Buffer.from(file.bytes.subarray(0, file.bytes.indexOf('{"type":"released"}')))
  const begin = time.clock.monotonic()
  assert.equal((await store.open(SAMPLE_ID)).epoch, 2)
  assert.equal(time.clock.monotonic(), begin)
})
