import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SESSION_VERSION } from '@beige/protocol'
import type { MemoryDisk } from '../test/memory-disk.ts'
import { processOn, SAMPLE_FOLDER, SAMPLE_ID, sampleLog } from '../test/sample-log.ts'
import { prompt } from '../test/sample-records.ts'
import { foldSession } from './fold.ts'
import { lineHash, seal } from './record-line.ts'

function lastRecord(disk: MemoryDisk): { seq: number; prev: string } {
  const lines = disk.files.get(`${SAMPLE_FOLDER}/000001.jsonl`)?.bytes.toString('utf8').split('\n') ?? []
  const records = lines.filter(line => line.startsWith('{"seq":'))
  return { seq: records.length, prev: lineHash(Buffer.from(records.at(-1) ?? '')) }
}

async function addLine(disk: MemoryDisk, fields: string): Promise<void> {
  const file = disk.files.get(`${SAMPLE_FOLDER}/000001.jsonl`)
  assert.ok(file)
  const { seq, prev } = lastRecord(disk)
  const line = seal(`{"seq":${seq + 1},"epoch":1,"prev":"${prev}","at":1,${fields}`)
  file.bytes = Buffer.concat([file.bytes, line, Buffer.from('\n')])
}

test('a type that is not known, and a known one of another shape, are kept and skipped', async () => {
  const disk = await sampleLog(1, 'killed')
  const before = foldSession(await processOn(disk, 2).store.read(SAMPLE_ID))
  await addLine(disk, '"type":"hologram","colour":"beige"')
  await addLine(disk, '"type":"prompt","id":7')
  const { store } = processOn(disk, 3)
  const log = await store.open(SAMPLE_ID)
  assert.deepEqual(log.damage, [])
  const [hologram, odd] = log.records.slice(-2)
  assert.partialDeepStrictEqual(hologram, { type: 'unknown', raw: { type: 'hologram', colour: 'beige' } })
  assert.partialDeepStrictEqual(odd, { type: 'unknown', raw: { type: 'prompt', id: 7 } })
  assert.deepEqual(foldSession(log.records), before)
  await log.append(prompt('next', null))
  assert.deepEqual(await processOn(disk, 4).store.read(SAMPLE_ID), log.records)
})

test('a higher version is refused by name, before anything is written', async () => {
  const disk = await sampleLog(1, 'released')
  const file = disk.files.get(`${SAMPLE_FOLDER}/000001.jsonl`)
  assert.ok(file)
  const lines = file.bytes.toString('utf8').split('\n')
  const newer = (lines[1] ?? '')
    .replace(`"version":${SESSION_VERSION}`, '"version":7')
    .replace(/,"sum".*/, '')
  lines[1] = Buffer.from(seal(newer)).toString('utf8')
  file.bytes = Buffer.from(lines.join('\n'))
  const names = [...disk.files.keys()]
  const { store } = processOn(disk, 2)
  await assert.rejects(store.open(SAMPLE_ID), { code: 'version', message: /format version 7/ })
  await assert.rejects(store.read(SAMPLE_ID), { code: 'version' })
  assert.deepEqual([...disk.files.keys()], names)
})
