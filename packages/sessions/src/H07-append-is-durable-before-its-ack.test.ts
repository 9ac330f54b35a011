/** A real process is killed with -9 in the middle of its appends: every record that it acknowledged is there. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { systemClock, systemRandom } from '@beige/protocol'
import { createFaultyDisk, type FaultyDisk } from '../test/faulty-disk.ts'
import { createManualTime } from '../test/manual-time.ts'
import { createMemoryDisk } from '../test/memory-disk.ts'
import { prompt, seededRandom, sessionId } from '../test/sample-records.ts'
import { createFilesStore } from './files/index.ts'

const CHILD = fileURLToPath(new URL('../test/appending-child.ts', import.meta.url))
const ID = sessionId('s_killed')
const OWNERS = 2

test('kill -9 in the middle of appends loses nothing that was acknowledged', {
  timeout: 60_000,
}, async () => {
  const root = await mkdtemp(join(tmpdir(), 'beige-kill-'))
  try {
    const acked: string[] = []
    for (let owner = 1; owner <= OWNERS; owner++) acked.push(...(await killedAfter(root, 150 + owner * 61)))
    const store = createFilesStore({ root, clock: systemClock, random: systemRandom })
    const records = await store.read(ID)
    const ids = records.flatMap(record => (record.type === 'prompt' ? [record.id] : []))
    assert.deepEqual(
      acked.filter(id => !ids.includes(id)),
      [],
    )
    assert.equal(new Set(ids).size, ids.length)
    assert.deepEqual(
      records.map(record => record.seq),
      records.map((_, index) => index + 1),
    )
    await store.close()
  } finally {
    await rm(root, { recursive: true })
  }
})

test('an append resolves only after its bytes are synced and the fence was looked at', async () => {
  const disk = createFaultyDisk(createMemoryDisk())
  const time = createManualTime()
  const store = createFilesStore({
    root: '/sessions',
    disk,
    clock: time.clock,
    random: seededRandom(1),
    ticker: time.ticker(),
  })
  const log = await store.create({ id: ID, cwd: '/w' })
  const calls: string[] = []
  recordCalls(disk, calls)
  await log.append(prompt('e1', null)).then(() => calls.push('ack'))
  assert.deepEqual(calls, ['write', 'sync', 'openDirectory', 'ack'])

  calls.length = 0
  await Promise.all(['e2', 'e3', 'e4'].map(id => log.append(prompt(id, null)).then(() => calls.push('ack'))))
  assert.deepEqual(calls, ['write', 'sync', 'openDirectory', 'ack', 'ack', 'ack'])
})

test('a creation costs one write, one sync of the file and one of each new directory', async () => {
  const disk = createFaultyDisk(createMemoryDisk())
  const time = createManualTime()
  const parts = { root: '/sessions', disk, clock: time.clock, random: seededRandom(1), ticker: time.ticker() }
  await (await createFilesStore(parts).create({ id: 's_first', cwd: '/w' })).close()
  const calls: string[] = []
  recordCalls(disk, calls)
  await createFilesStore({ ...parts, random: seededRandom(2) }).create(
    { id: ID, cwd: '/w' },
    prompt('e1', null),
  )
  assert.deepEqual(calls, ['create', 'write', 'sync', 'syncDirectory', 'syncDirectory', 'openDirectory'])
})

/** Those that concern the session; heartbeat and index are written beside it and nobody waits for them. */
function recordCalls(disk: FaultyDisk, calls: string[]): void {
  disk.before = async (call, path) => {
    if (path.includes(ID) || path === '/sessions') calls.push(call)
  }
}

/** Runs an owner and kills it when it has acknowledged `count` records; answers with all it had acknowledged. */
async function killedAfter(root: string, count: number): Promise<string[]> {
  const child = spawn(process.execPath, [...process.execArgv, '--conditions=beige-source', CHILD, root, ID], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const acked: string[] = []
  for await (const line of createInterface(child.stdout)) {
    if (line.startsWith('epoch ')) continue
    acked.push(line)
    if (acked.length === count) child.kill('SIGKILL')
  }
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  assert.equal(child.signalCode, 'SIGKILL')
  return acked
}
