import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createFaultyDisk } from '../test/faulty-disk.ts'
import { createManualTime } from '../test/manual-time.ts'
import { createMemoryDisk } from '../test/memory-disk.ts'
import { prompt, seededRandom, sessionId } from '../test/sample-records.ts'
import { createFilesStore } from './files/index.ts'

test('no file of a store is ever written by two processes, however often sessions change hands', async () => {
  const shared = createMemoryDisk()
  const time = createManualTime()
  const writers = new Map<string, Set<number>>()
  const id = sessionId('s_shared')
  for (let process = 0; process < 12; process++) {
    const disk = createFaultyDisk(shared)
    disk.before = async (call, path) => {
      if (call === 'write') writers.set(path, (writers.get(path) ?? new Set()).add(process))
    }
    const ticker = time.ticker()
    const random = seededRandom(process)
    const store = createFilesStore({ root: '/sessions', disk, ticker, clock: time.clock, random })
    const log = process === 0 ? await store.create({ id, cwd: '/w' }) : await store.open(id)
    await store.create({ id: `s_${process}`, cwd: '/w' })
    await log.append(prompt(`p${process}`, null))
    await store.list({ limit: 5 })
    await time.advance(2000)
    if (process % 3 === 1) ticker.freeze()
    else await store.close()
  }
  assert.ok(writers.size > 30, `${writers.size} files`)
  for (const [path, who] of writers) assert.equal(who.size, 1, path)
})
