/** A listing that has seen everything once reads on: what others make, change, remove and restore is in it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createManualTime } from '../../test/manual-time.ts'
import { createMemoryDisk, type MemoryDisk } from '../../test/memory-disk.ts'
import { processOn } from '../../test/sample-log.ts'
import { prompt, sessionId } from '../../test/sample-records.ts'

const A = sessionId('s_a')

function world() {
  const disk = createMemoryDisk()
  const time = createManualTime()
  const store = (seed: number, on: MemoryDisk = disk) => processOn(on, seed, time).store
  return { disk, time, store }
}

test('what other processes make, change, remove and restore is in the next page', async () => {
  const { store, time } = world()
  const [watcher, maker, remover] = [store(1), store(2), store(3)]
  const titles = async () => (await watcher.list({ limit: 10 })).rows.map(row => `${row.id} ${row.title}`)
  assert.deepEqual(await titles(), [])
  const log = await maker.create({ id: A, cwd: '/w' })
  assert.deepEqual(await titles(), ['s_a '])
  await log.append(prompt('p', null, 'the task'))
  await time.advance(1)
  await (await maker.create({ id: 's_b', cwd: '/w' }, prompt('p', null, 'another'))).close()
  assert.deepEqual(await titles(), ['s_b another', 's_a the task'])
  await log.close()
  await remover.remove(A)
  assert.deepEqual(await titles(), ['s_b another'])
  assert.equal((await watcher.list({ limit: 1, text: 'task' })).total, 0)
  await remover.restore(A)
  assert.deepEqual(await titles(), ['s_b another', 's_a the task'])
})

test('an index that is damaged while it is read on is made again from the logs', async () => {
  const { disk, store } = world()
  const [watcher, maker] = [store(1), store(2)]
  await (await maker.create({ id: A, cwd: '/w' }, prompt('p', null, 'first'))).close()
  await watcher.list({ limit: 10 })
  const path = [...disk.files.keys()].find(one => one.includes('/.listings/'))
  const file = disk.files.get(path ?? '')
  assert.ok(file)
  file.bytes = Buffer.concat([file.bytes, Buffer.from('no row\n')])
  await (await store(3).create({ id: 's_b', cwd: '/w' }, prompt('p', null, 'second'))).close()
  const rows = async () => (await watcher.list({ limit: 10 })).rows.map(row => row.title).sort()
  assert.deepEqual(await rows(), ['first', 'second'])
})

test('pages that are asked for at once are right', async () => {
  const { store } = world()
  const [watcher, maker] = [store(1), store(2)]
  for (let index = 0; index < 20; index++) {
    const [, page] = await Promise.all([
      maker.create({ id: `s_${index}`, cwd: '/w' }).then(log => log.close()),
      watcher.list({ limit: 50 }),
      watcher.list({ limit: 50 }),
    ])
    assert.ok(page.total >= index)
  }
  assert.equal((await watcher.list({ limit: 50 })).total, 20)
})
