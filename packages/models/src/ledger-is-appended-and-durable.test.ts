/** `usage.jsonl`: many lines, one sync; a torn tail costs one line; a full disk costs none; a line counts once. */
import assert from 'node:assert/strict'
import { appendFile, mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { memoryDisk, textIn } from '../test/memory-disk.ts'
import { type LedgerLine, openLedger, readLedger } from './ledger.ts'
import { nodeDisk } from './node-disk.ts'
import type { StateDisk } from './outside.ts'

const PATH = '/state/usage.jsonl'
const line = (n: number): LedgerLine => ({
  v: 1,
  id: `q_${n}`,
  ts: '2026-08-24T12:00:00.000Z',
  provider: 'one',
  model: 'a',
  session: 's',
  end: 'done',
  input: n,
  output: 0,
  cacheRead: 0,
  cacheWrite: 0,
  costNanoUsd: n,
})
const silent = () => {}

async function idsIn(disk: StateDisk, path = PATH) {
  const ids: string[] = []
  const { skipped } = await readLedger({ path, disk }, one => ids.push(one.id))
  return { ids, skipped }
}

test('lines that come while one is written share the next sync', async () => {
  const disk = memoryDisk()
  const ledger = openLedger({ path: PATH, disk }, silent)
  const gate = Promise.withResolvers<void>()
  disk.gate = gate.promise
  const first = ledger.append(line(0))
  await new Promise(setImmediate)
  const others = Array.from({ length: 100 }, (_, i) => ledger.append(line(i + 1)))
  gate.resolve()
  await Promise.all([first, ...others])
  assert.equal(disk.syncs, 2)
  assert.equal((await idsIn(disk)).ids.length, 101)
})

test('who is told that its line is written finds it on the disk', async () => {
  const disk = memoryDisk()
  const ledger = openLedger({ path: PATH, disk }, silent)
  await Promise.all(
    Array.from({ length: 50 }, async (_, i) => {
      for (let turn = 0; turn < i % 5; turn++) await null
      await ledger.append(line(i))
      assert.match(textIn(disk, PATH), new RegExp(`"q_${i}"`))
    }),
  )
})

test('a tail that was torn at any byte costs that line alone, and new lines begin on a new one', async () => {
  const text = JSON.stringify(line(1))
  for (let length = 0; length <= text.length; length += 7) {
    const disk = memoryDisk()
    disk.files.set(PATH, new TextEncoder().encode(`${JSON.stringify(line(0))}\n${text.slice(0, length)}`))
    const ledger = openLedger({ path: PATH, disk }, silent)
    await ledger.append(line(2))
    await ledger.append(line(3))
    assert.deepEqual(await idsIn(disk), { ids: ['q_0', 'q_2', 'q_3'], skipped: length === 0 ? 0 : 1 })
    assert.equal(textIn(disk, PATH).includes('\n\n'), false)
  }
})

test('a full disk is said once, nothing is lost or counted twice when there is room again', async () => {
  for (let room = 0; room < 400; room += 13) {
    const disk = memoryDisk()
    const said: string[] = []
    const ledger = openLedger({ path: PATH, disk }, text => said.push(text))
    disk.room = room
    await Promise.all([1, 2, 3].map(n => ledger.append(line(n))))
    assert.match(ledger.error() ?? '', /ENOSPC/)
    disk.room = Number.POSITIVE_INFINITY
    await ledger.append(line(4))
    assert.equal(ledger.error(), null)
    assert.deepEqual((await idsIn(disk)).ids.toSorted(), ['q_1', 'q_2', 'q_3', 'q_4'], `room for ${room}`)
    assert.equal(said.length, 2)
  }
})

test('a real file: made with its folder, for its owner alone, gone on with by the next process', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'beige-ledger-'))
  const path = join(folder, 'state', 'usage.jsonl')
  try {
    for (const n of [1, 2]) {
      const ledger = openLedger({ path, disk: nodeDisk }, silent)
      await ledger.append(line(n))
      await ledger.close()
      await appendFile(path, '{"torn')
    }
    assert.deepEqual(await idsIn(nodeDisk, path), { ids: ['q_1', 'q_2'], skipped: 2 })
    assert.equal((await stat(path)).mode & 0o777, 0o600)
    assert.deepEqual(await idsIn(nodeDisk, join(folder, 'none')), { ids: [], skipped: 0 })
  } finally {
    await rm(folder, { recursive: true })
  }
})
