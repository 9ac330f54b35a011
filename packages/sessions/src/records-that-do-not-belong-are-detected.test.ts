/** Whole lines with a good checksum, in the wrong place: `seq`, `epoch` and `prev` tell. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { MemoryDisk } from '../test/memory-disk.ts'
import { processOn, SAMPLE_FOLDER, SAMPLE_ID, sampleLog } from '../test/sample-log.ts'
import { prompt } from '../test/sample-records.ts'
import { encodeRecord, FIRST_PREV, lineHash, prepareBody } from './record-line.ts'

const PATH = `${SAMPLE_FOLDER}/000001.jsonl`

async function opened(change: (lines: string[]) => string[]) {
  const disk = await sampleLog(1, 'killed')
  const original = await processOn(disk, 2).store.read(SAMPLE_ID)
  const file = disk.files.get(PATH)
  assert.ok(file)
  file.bytes = Buffer.from(`${change(linesOf(disk)).join('\n')}\n`)
  const { store } = processOn(disk, 3)
  const log = await store.open(SAMPLE_ID)
  await store.close()
  assert.deepEqual((await processOn(disk, 4).store.open(SAMPLE_ID)).damage, [], 'told once')
  return { original, log, kept: log.records.filter(record => record.type !== 'damage') }
}

/** The header first, then the records by their `seq`. */
function linesOf(disk: MemoryDisk): string[] {
  return disk.files.get(PATH)?.bytes.toString('utf8').trimEnd().split('\n') ?? []
}

function foreign(seq: number, epoch: number, prev: string): string {
  const body = prepareBody(prompt('foreign', null))
  assert.ok(typeof body !== 'string')
  return Buffer.from(encodeRecord(body, { seq, epoch, prev, at: 1 }).line).toString('utf8')
}

test('a line of another log, with the next number', async () => {
  const { original, log, kept } = await opened(lines => [...lines, foreign(lines.length, 1, FIRST_PREV)])
  assert.deepEqual(kept, original)
  assert.deepEqual(
    log.damage.map(damage => damage.reason),
    ['out of order'],
  )
})

test('a line of another log between two others', async () => {
  const { original, log, kept } = await opened(lines => lines.toSpliced(4, 0, foreign(90, 1, FIRST_PREV)))
  assert.deepEqual(kept, original)
  assert.equal(log.damage.length, 1)
})

test('a line written twice', async () => {
  const { original, log, kept } = await opened(lines => lines.toSpliced(4, 0, lines[3] ?? ''))
  assert.deepEqual(kept, original)
  assert.equal(log.damage.length, 1)
})

test('a line of a fenced epoch, and of one that never was', async () => {
  for (const epoch of [2, 7]) {
    const { original, log, kept } = await opened(lines => [
      ...lines,
      foreign(lines.length, epoch, lineHash(Buffer.from(lines.at(-1) ?? ''))),
    ])
    assert.deepEqual(kept, original)
    assert.equal(log.damage[0]?.reason, 'of a fenced epoch')
  }
})

test('a line that was taken out is missed by its number', async () => {
  const { original, log, kept } = await opened(lines => lines.toSpliced(4, 1))
  assert.deepEqual(kept, original.toSpliced(3, 1))
  assert.deepEqual(log.damage, [
    { segment: '000001.jsonl', offset: log.damage[0]?.offset, length: 0, seqs: [4], reason: 'missing' },
  ])
})

test('the last lines of an owner that had a successor are missed, too', async () => {
  const disk = await sampleLog(2, 'killed')
  const original = await processOn(disk, 5).store.read(SAMPLE_ID)
  const file = disk.files.get(PATH)
  assert.ok(file)
  const cut = Buffer.byteLength(linesOf(disk).slice(0, -3).join('\n')) + 1
  const removed = linesOf(disk)
    .slice(-3)
    .filter(line => line.startsWith('{"seq":')).length
  file.bytes = Buffer.from(file.bytes.subarray(0, cut))
  const log = await processOn(disk, 6).store.open(SAMPLE_ID)
  assert.equal(log.damage.length, 1)
  assert.equal(log.damage[0]?.reason, 'cut off')
  assert.equal(log.damage[0]?.seqs.length, removed)
  assert.equal(log.records.filter(record => record.type !== 'damage').length, original.length - removed)
})

test('a removed segment is missed by name', async () => {
  const disk = await sampleLog(3, 'released')
  const original = await processOn(disk, 5).store.read(SAMPLE_ID)
  disk.files.delete(`${SAMPLE_FOLDER}/000002.jsonl`)
  const log = await processOn(disk, 6).store.open(SAMPLE_ID)
  assert.equal(log.damage[0]?.segment, '000002.jsonl')
  assert.deepEqual(
    log.damage[0]?.seqs,
    original.filter(record => record.epoch === 2).map(record => record.seq),
  )
  assert.deepEqual(
    log.records.filter(record => record.type !== 'damage'),
    original.filter(record => record.epoch !== 2),
  )
})
