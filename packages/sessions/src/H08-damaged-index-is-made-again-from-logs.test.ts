import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createManualTime } from '../test/manual-time.ts'
import { createMemoryDisk, type MemoryDisk } from '../test/memory-disk.ts'
import { processOn } from '../test/sample-log.ts'
import { prompt } from '../test/sample-records.ts'

const COUNT = 5

async function listed(disk: MemoryDisk, seed: number) {
  const { rows } = await processOn(disk, seed).store.list({ limit: 100 })
  return rows.map(({ messageCount: _, ...row }) => row) // a count is not among what the ends of a log tell
}

async function diskWithSessions(): Promise<MemoryDisk> {
  const disk = createMemoryDisk()
  const time = createManualTime()
  const { store } = processOn(disk, 1, time)
  for (let index = 0; index < COUNT; index++) {
    await time.advance(1000)
    await store.create(
      { id: `s_${index}`, cwd: '/w', model: 'm', meta: { index } },
      prompt('p', null, `task ${index}`),
    )
  }
  await store.close()
  return disk
}

function indexFiles(disk: MemoryDisk): string[] {
  return [...disk.files.keys()].filter(path => path.includes('/.listings/'))
}

test('an index that is gone, emptied, cut or flipped gives the same rows, and loses no file of another process', async () => {
  const original = await diskWithSessions()
  const rows = await listed(original.copy(), 50)
  assert.deepEqual(
    rows.map(row => row.title),
    ['task 4', 'task 3', 'task 2', 'task 1', 'task 0'],
  )
  const [path] = indexFiles(original)
  const size = path && original.files.get(path)?.bytes.length
  assert.ok(path && size)
  for (let at = 0; at < size; at += 11) {
    for (const kind of ['cut', 'flip', 'gone'] as const) {
      const disk = original.copy()
      const file = disk.files.get(path)
      assert.ok(file)
      if (kind === 'cut') file.bytes = Buffer.from(file.bytes.subarray(0, at))
      else if (kind === 'flip') file.bytes.writeUInt8(file.bytes.readUInt8(at) ^ 4, at)
      else disk.files.delete(path)
      const damaged: Buffer = Buffer.from(disk.files.get(path)?.bytes ?? '')
      assert.deepEqual(await listed(disk, 51), rows, `${kind} at ${at}`)
      assert.deepEqual(Buffer.from(disk.files.get(path)?.bytes ?? ''), damaged)
      assert.deepEqual(await listed(disk, 52), rows, `${kind} at ${at}, again`)
    }
  }
})

test('many small indexes of ended processes are folded into one', async () => {
  const disk = createMemoryDisk()
  const time = createManualTime()
  for (let index = 0; index < 40; index++) {
    await time.advance(1000)
    const { store } = processOn(disk, index, time)
    await store.create({ id: `s_${index}`, cwd: '/w' }, prompt('p', null, `task ${index}`))
    await store.close()
  }
  const alive = processOn(disk, 100, time).store
  const log = await alive.create({ id: 's_alive', cwd: '/w' })
  await time.advance(1000)
  const rows = await listed(disk, 101)
  assert.equal(rows.length, 41)
  assert.equal(indexFiles(disk).length, 2)
  await log.append(prompt('p', null, 'still here'))
  await alive.close()
  assert.equal((await listed(disk, 102))[0]?.title, 'still here')
})
