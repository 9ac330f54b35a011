/** Two owners of one session, one of them stopped at every single disk call: nothing acknowledged is lost, nothing forks. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isError, type SessionRecord } from '@beige/protocol'
import { createFaultyDisk, type FaultyDisk } from '../test/faulty-disk.ts'
import { createManualTime, type ManualTime } from '../test/manual-time.ts'
import { createMemoryDisk, type MemoryDisk } from '../test/memory-disk.ts'
import { SAMPLE_ID } from '../test/sample-log.ts'
import { prompt, seededRandom } from '../test/sample-records.ts'
import { createFilesStore } from './files/index.ts'

const MAX_CALLS = 60

test('an owner that is paused at any call of an append wakes up fenced, or had been heard', async () => {
  let points = 0
  for (let point = 1; point <= MAX_CALLS; point++) {
    const { time, disk } = world()
    const zombie = processOn(disk, time, 1)
    const log = await zombie.store.create({ id: SAMPLE_ID, cwd: '/w' })
    zombie.freeze()
    const pause = pauseAt(zombie.disk, point)
    const write = outcomeOf(log.append(prompt('old', null)))
    if (!(await pause.reachedOr(write))) break
    points++

    const successor = await processOn(disk, time, 2).store.open(SAMPLE_ID)
    await successor.append(prompt('new', null))
    pause.resume()
    const acked = await write
    await successor.append(prompt('newer', null))

    const history = await processOn(disk, time, 3).store.read(SAMPLE_ID)
    assert.deepEqual(history, successor.records, `paused at call ${point}`)
    assert.deepEqual(successor.damage, [])
    const ids = idsOf(history)
    assert.deepEqual(ids.slice(-2), ['new', 'newer'])
    if (acked) assert.ok(ids.includes('old'), `acknowledged at call ${point} and lost`)
    assert.equal(ids.length, new Set(ids).size)
  }
  assert.ok(points >= 4, `${points} pauses`)
})

test('what an owner acknowledges while its successor takes over, at any call, is in the history', async () => {
  let points = 0
  for (let point = 1; point <= MAX_CALLS; point++) {
    const { time, disk } = world()
    const owner = processOn(disk, time, 1)
    const log = await owner.store.create({ id: SAMPLE_ID, cwd: '/w' }, prompt('first', null))
    owner.freeze()
    const taker = processOn(disk, time, 2)
    const pause = pauseAt(taker.disk, point)
    const opening = taker.store.open(SAMPLE_ID)
    if (!(await pause.reachedOr(opening))) break
    points++

    const acked: string[] = []
    for (const id of ['a', 'b', 'c']) if (await outcomeOf(log.append(prompt(id, null)))) acked.push(id)
    pause.resume()
    const taken = await opening
    await taken.append(prompt('taken', null))
    assert.equal(await outcomeOf(log.append(prompt('late', null))), false)
    const ids = idsOf(await processOn(disk, time, 3).store.read(SAMPLE_ID))
    for (const id of ['first', ...acked, 'taken'])
      assert.ok(ids.includes(id), `stopped at call ${point}: ${id} lost`)
    assert.equal(ids.at(-1), 'taken')
    assert.ok(!ids.includes('late'))
  }
  assert.ok(points >= 6, `${points} pauses`)
})

test('a taker that dies at any call of its takeover leaves a session that the next one opens', async () => {
  let points = 0
  for (let point = 1; point <= MAX_CALLS; point++) {
    const { time, disk } = world()
    const owner = processOn(disk, time, 1)
    await owner.store.create({ id: SAMPLE_ID, cwd: '/w' }, prompt('first', null))
    owner.freeze()
    const taker = processOn(disk, time, 2)
    const pause = pauseAt(taker.disk, point)
    const opening = taker.store.open(SAMPLE_ID)
    if (!(await pause.reachedOr(opening))) break
    points++
    taker.freeze() // for ever

    const next = await processOn(disk, time, 3).store.open(SAMPLE_ID)
    assert.deepEqual(idsOf(next.records), ['first'])
    assert.deepEqual(next.damage, [])
    await next.append(prompt('second', null))
    assert.deepEqual(idsOf(await processOn(disk, time, 4).store.read(SAMPLE_ID)), ['first', 'second'])
  }
  assert.ok(points >= 6, `${points} deaths`)
})

test('of two that take over at once, one becomes the owner', async () => {
  const { time, disk } = world()
  const owner = processOn(disk, time, 1)
  await owner.store.create({ id: SAMPLE_ID, cwd: '/w' })
  owner.freeze()
  const results = await Promise.allSettled(
    [2, 3, 4].map(seed => processOn(disk, time, seed).store.open(SAMPLE_ID)),
  )
  const owners = results.filter(result => result.status === 'fulfilled')
  assert.equal(owners.length, 1)
  for (const result of results) {
    if (result.status === 'rejected')
      assert.equal(isError(result.reason, 'session_busy'), true, String(result.reason))
  }
})

test('bytes that a failed write left are never written over, since a successor may have sealed them', async () => {
  for (let room = 0; room < 700; room += 13) {
    const { time, disk } = world()
    const zombie = processOn(disk, time, 1)
    const log = await zombie.store.create({ id: SAMPLE_ID, cwd: '/w' })
    zombie.freeze()
    zombie.disk.room = room
    await assert.rejects(log.append(prompt('x', null), prompt('y', null)), { code: 'storage' })

    const successor = await processOn(disk, time, 2).store.open(SAMPLE_ID)
    await successor.append(prompt('new', null))
    zombie.disk.room = Number.POSITIVE_INFINITY
    assert.equal(await outcomeOf(log.append(prompt('z', null, 'another text'))), false)
    assert.deepEqual(
      await processOn(disk, time, 3).store.read(SAMPLE_ID),
      successor.records,
      `room for ${room}`,
    )
  }
})

function world(): { time: ManualTime; disk: MemoryDisk } {
  return { time: createManualTime(), disk: createMemoryDisk() }
}

function processOn(shared: MemoryDisk, time: ManualTime, seed: number) {
  const disk = createFaultyDisk(shared)
  const ticker = time.ticker()
  const store = createFilesStore({
    root: '/sessions',
    disk,
    ticker,
    clock: time.clock,
    random: seededRandom(seed),
  })
  return { store, disk, freeze: ticker.freeze }
}

/** Stops the process before its n-th disk call from now, until it is resumed. */
function pauseAt(disk: FaultyDisk, call: number) {
  const reached = Promise.withResolvers<true>()
  const resumed = Promise.withResolvers<void>()
  let calls = 0
  disk.before = async () => {
    if (++calls < call) return
    reached.resolve(true)
    await resumed.promise
  }
  return {
    resume: () => resumed.resolve(),
    /** False when the work was over before. */
    reachedOr: (work: Promise<unknown>) => Promise.race([reached.promise, work.then(() => false)]),
  }
}

/** True: acknowledged; false: superseded. */
async function outcomeOf(write: Promise<unknown>): Promise<boolean> {
  try {
    await write
    return true
  } catch (error) {
    assert.ok(isError(error, 'session_superseded'), String(error))
    return false
  }
}

function idsOf(records: readonly SessionRecord[]): string[] {
  return records.flatMap(record => (record.type === 'prompt' ? [record.id] : []))
}
