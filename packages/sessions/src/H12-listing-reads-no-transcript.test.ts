import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createManualTime } from '../test/manual-time.ts'
import { createMemoryDisk } from '../test/memory-disk.ts'
import { prompt, seededRandom } from '../test/sample-records.ts'
import { createFilesStore } from './files/index.ts'

test('a listing reads no log when there is an index, and a few kilobytes of it when there is none', async () => {
  const memory = createMemoryDisk()
  let logBytes = 0
  const counted = <T extends Uint8Array | null>(path: string, bytes: T): T => {
    if (path.includes('/s_')) logBytes += bytes?.length ?? 0
    return bytes
  }
  const disk = {
    ...memory,
    read: async (path: string) => counted(path, await memory.read(path)),
    readHead: async (path: string, max: number) => counted(path, await memory.readHead(path, max)),
    readTail: async (path: string, max: number) => counted(path, await memory.readTail(path, max)),
  }
  const time = createManualTime()
  const processOf = (seed: number) =>
    createFilesStore({
      root: '/sessions',
      disk,
      clock: time.clock,
      random: seededRandom(seed),
      ticker: time.ticker(),
    })
  const writer = processOf(1)
  const log = await writer.create({ id: 's_long', cwd: '/w' }, prompt('p', null, 'the question\nand more'))
  for (let index = 0; index < 50; index++) await log.append(prompt(`p${index}`, null, 'x'.repeat(100_000)))
  await writer.close()

  logBytes = 0
  const { rows } = await processOf(2).list({ limit: 10 })
  assert.deepEqual([rows[0]?.title, logBytes], ['the question', 0])

  for (const path of memory.files.keys()) if (path.includes('/.listings/')) memory.files.delete(path)
  const again = await processOf(3).list({ limit: 10 })
  assert.deepEqual(again.rows, [{ ...rows[0], messageCount: null }])
  assert.ok(logBytes <= 128 * 1024, `${logBytes} bytes of a log of 5 MB`)
})
