import assert from 'node:assert/strict'
import { test } from 'node:test'
import { processOn, SAMPLE_FOLDER, SAMPLE_ID, sampleLog } from '../test/sample-log.ts'
import { prompt } from '../test/sample-records.ts'

test('half a UTF-8 character at the end is damage of its own; later appends are read back', async () => {
  const disk = await sampleLog(1, 'killed')
  const file = disk.files.get(`${SAMPLE_FOLDER}/000001.jsonl`)
  assert.ok(file)
  const emoji = file.bytes.lastIndexOf(Buffer.from('😀'))
  file.bytes = Buffer.from(file.bytes.subarray(0, emoji + 2))

  const { store } = processOn(disk, 2)
  const log = await store.open(SAMPLE_ID)
  assert.equal(log.damage.length, 1)
  await log.append(prompt('größer 😀', null))
  assert.deepEqual(await processOn(disk, 3).store.read(SAMPLE_ID), log.records)
  assert.equal(log.records[0]?.type, 'session')
})
