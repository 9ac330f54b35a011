import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createManualTime } from '../test/manual-time.ts'
import { createMemoryDisk } from '../test/memory-disk.ts'
import { processOn, SAMPLE_ID } from '../test/sample-log.ts'
import { foldSession } from './fold.ts'

test('a session that is killed before its first message keeps its facts', async () => {
  const disk = createMemoryDisk()
  const time = createManualTime()
  const meta = { agent: 'child', depth: 3, maxDepth: 4 }
  const first = processOn(disk, 1, time)
  await first.store.create({ id: SAMPLE_ID, cwd: '/w', model: 'm', title: 'T', parent: 's_parent', meta })
  first.kill()
  const log = await processOn(disk, 2, time).store.open(SAMPLE_ID)
  assert.partialDeepStrictEqual(foldSession(log.records).session, {
    id: SAMPLE_ID,
    cwd: '/w',
    model: 'm',
    title: 'T',
    parent: 's_parent',
    meta,
  })
  assert.deepEqual(log.damage, [])
})
