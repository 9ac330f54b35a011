import assert from 'node:assert/strict'
import { test } from 'node:test'
import { processOn, SAMPLE_FOLDER, SAMPLE_ID, sampleLog } from '../test/sample-log.ts'
import { prompt } from '../test/sample-records.ts'

test('half a line stays where it is, set aside and told; the next append is whole', async () => {
  const disk = await sampleLog(1, 'killed')
  const path = `${SAMPLE_FOLDER}/000001.jsonl`
  const file = disk.files.get(path)
  assert.ok(file)
  const wholeEnd = file.bytes.length
  const torn = '{"seq":7,"epoch":1,"prev":"00'
  file.bytes = Buffer.concat([file.bytes, Buffer.from(torn)])
  const before = Buffer.from(file.bytes)

  const { store } = processOn(disk, 2)
  const log = await store.open(SAMPLE_ID)
  assert.deepEqual(log.damage, [
    { segment: '000001.jsonl', offset: wholeEnd, length: torn.length, seqs: [], reason: 'torn tail' },
  ])
  await log.append(prompt('next', null))
  assert.deepEqual(disk.files.get(path)?.bytes, before, 'nobody wrote to the old segment')
  const count = log.records.length
  assert.deepEqual(
    log.records.slice(-3).map(record => [record.seq, record.type]),
    [
      [count - 2, 'run_end'],
      [count - 1, 'damage'],
      [count, 'prompt'],
    ],
  )
  const quarantine = disk.files.get(`${path}.quarantine`)?.bytes.toString('utf8') ?? ''
  assert.partialDeepStrictEqual(JSON.parse(quarantine), {
    offset: wholeEnd,
    length: torn.length,
    bytes: Buffer.from(torn).toString('base64'),
  })
  await store.close()
  assert.deepEqual((await processOn(disk, 3).store.open(SAMPLE_ID)).damage, [])
})
