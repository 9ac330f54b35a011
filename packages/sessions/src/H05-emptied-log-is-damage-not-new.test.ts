import assert from 'node:assert/strict'
import { test } from 'node:test'
import { processOn, SAMPLE_FOLDER, SAMPLE_ID, sampleLog } from '../test/sample-log.ts'

test('a log that was emptied is told as damage and can not be created anew', async () => {
  for (const bytes of [Buffer.alloc(0), Buffer.alloc(700), Buffer.from('not a log\n')]) {
    const disk = await sampleLog(1, 'released')
    const file = disk.files.get(`${SAMPLE_FOLDER}/000001.jsonl`)
    assert.ok(file)
    file.bytes = bytes
    const { store } = processOn(disk, 2)
    assert.equal(await store.exists(SAMPLE_ID), true)
    await assert.rejects(store.create({ id: SAMPLE_ID, cwd: '/w' }), { code: 'exists' })
    const log = await store.open(SAMPLE_ID)
    assert.equal(log.damage.length, 1, JSON.stringify(log.damage))
    assert.deepEqual(
      log.records.map(record => record.type),
      ['damage'],
    )
    await store.close()
    assert.deepEqual((await processOn(disk, 3).store.open(SAMPLE_ID)).damage, [])
  }
})
