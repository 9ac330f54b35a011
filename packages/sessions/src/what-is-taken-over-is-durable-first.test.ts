/** What somebody wrote and died over, before it was durable: whoever goes on from it makes it so before it becomes the owner. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createFaultyDisk } from '../test/faulty-disk.ts'
import { createManualTime } from '../test/manual-time.ts'
import { createMemoryDisk, type MemoryDisk } from '../test/memory-disk.ts'
import { SAMPLE_FOLDER, SAMPLE_ID, sampleLog } from '../test/sample-log.ts'
import { prompt, seededRandom } from '../test/sample-records.ts'
import { createFilesStore } from './files/index.ts'

/** What was synced before the first write to the new segment. */
function watched(shared: MemoryDisk) {
  const disk = createFaultyDisk(shared)
  const time = createManualTime()
  const synced = new Set<string>()
  let syncedBeforeWrite: Set<string> | null = null
  disk.before = async (call, path) => {
    if (call === 'syncDirectory' || call === 'syncFile') synced.add(path)
    if (call === 'write' && path.startsWith(SAMPLE_FOLDER)) syncedBeforeWrite ??= new Set(synced)
  }
  const parts = { root: '/sessions', disk, clock: time.clock, random: seededRandom(9), ticker: time.ticker() }
  return { store: createFilesStore(parts), before: () => [...(syncedBeforeWrite ?? [])].sort() }
}

test('a session that is created in a folder that was there', async () => {
  const shared = createMemoryDisk()
  await shared.makeDirectory('/sessions')
  await shared.makeDirectory(SAMPLE_FOLDER)
  const { store, before } = watched(shared)
  await store.create({ id: SAMPLE_ID, cwd: '/w' }, prompt('p', null))
  assert.deepEqual(before(), ['/sessions', SAMPLE_FOLDER])
})

test('a session that is opened', async () => {
  const { store, before } = watched(await sampleLog(1, 'killed'))
  await store.open(SAMPLE_ID)
  assert.deepEqual(before(), ['/sessions', SAMPLE_FOLDER, `${SAMPLE_FOLDER}/000001.jsonl`])
})

test('a creation whose first segment failed', async () => {
  const disk = createFaultyDisk(createMemoryDisk())
  const time = createManualTime()
  const parts = { root: '/sessions', disk, clock: time.clock, random: seededRandom(9), ticker: time.ticker() }
  const store = createFilesStore(parts)
  await (await store.create({ id: 's_first', cwd: '/w' })).close()
  const synced: string[] = []
  disk.before = async (call, path) => {
    if (call === 'create' && path.endsWith('000002.jsonl')) synced.length = 0
    if (call === 'syncDirectory') synced.push(path)
  }
  disk.failingSyncs = 1
  await store.create({ id: SAMPLE_ID, cwd: '/w' }, prompt('p', null))
  assert.deepEqual(synced.toSorted(), ['/sessions', SAMPLE_FOLDER])
})
