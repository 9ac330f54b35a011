/**
 * A log cut, flipped or zeroed anywhere opens, names the damage, keeps all the rest, and tells it once; a sealed one too.
 * FUZZ_SEED and FUZZ_CASES choose what is tried; both are printed.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createManualTime } from '../test/manual-time.ts'
import type { MemoryDisk } from '../test/memory-disk.ts'
import {
  placedRecords,
  processOn,
  SAMPLE_ID,
  sampleLog,
  sealingWith,
  segmentFiles,
} from '../test/sample-log.ts'
import { prompt, seededNumbers } from '../test/sample-records.ts'
import type { Sealing } from './sealing/sealing.ts'

const seed = Number(process.env.FUZZ_SEED ?? 1)
const cases = Number(process.env.FUZZ_CASES ?? 5000)

type Mutation = { path: string; kind: 'cut' | 'flip' | 'zero'; from: number; to: number }

for (const sealing of [undefined, sealingWith(7)]) {
  const kind = sealing ? 'sealed' : 'plain'
  test(`fuzz, ${kind}: seed ${seed}, ${cases} cases`, async context => {
    await fuzz(sealing)
    context.diagnostic(`FUZZ_SEED=${seed} FUZZ_CASES=${cases}`)
  })
}

async function fuzz(sealing: Sealing | undefined): Promise<void> {
  const originals = [
    await sampleLog(1, 'killed', sealing),
    await sampleLog(1, 'released', sealing),
    await sampleLog(5, 'killed', sealing),
    await sampleLog(7, 'released', sealing),
    await sampleLog(11, 'killed', sealing), // has a base
  ]
  const number = seededNumbers(seed)
  const pick = (count: number) => Math.floor(number() * count)
  for (let index = 0; index < cases; index++) {
    const original = originals[pick(originals.length)]
    assert.ok(original)
    const disk = original.copy()
    const mutation = mutate(disk, pick)
    const what = `FUZZ_SEED=${seed} case ${index}: ${JSON.stringify(mutation)}`
    await keepsAllTheRest(original, disk, mutation, what, sealing)
  }
}

function mutate(disk: MemoryDisk, pick: (count: number) => number): Mutation {
  const files = segmentFiles(disk)
  const chosen = files[pick(files.length)]
  const file = chosen && disk.files.get(chosen.path)
  assert.ok(chosen && file)
  const size = file.bytes.length
  const from = pick(size)
  const kind = (['cut', 'flip', 'zero'] as const)[pick(3)] ?? 'cut'
  if (kind === 'cut') {
    file.bytes = Buffer.from(file.bytes.subarray(0, from))
    return { path: chosen.path, kind, from, to: size }
  }
  if (kind === 'flip') {
    file.bytes.writeUInt8(file.bytes.readUInt8(from) ^ (1 << pick(8)), from)
    return { path: chosen.path, kind, from, to: from + 1 }
  }
  const to = Math.min(size, from + 1 + pick(pick(2) === 0 ? 16 : 4096))
  file.bytes.fill(0, from, to)
  return { path: chosen.path, kind, from, to }
}

async function keepsAllTheRest(
  original: MemoryDisk,
  disk: MemoryDisk,
  mutation: Mutation,
  what: string,
  sealing: Sealing | undefined,
) {
  const placed = placedRecords(original, sealing)
  const isTouched = (one: (typeof placed)[number]) =>
    mutation.path.endsWith(one.segment) && one.start < mutation.to && one.end > mutation.from
  const untouched = placed.filter(one => !isTouched(one)).map(one => one.record)
  const all = placed.map(one => JSON.stringify(one.record))
  // Cut between two lines of the newest segment, a log looks as if the rest had never been.
  const newest = segmentFiles(original).at(-1)
  const isSilent =
    mutation.kind === 'cut' &&
    mutation.path === newest?.path &&
    (mutation.from === 0 || newest.bytes.at(mutation.from - 1) === 0x0a)

  const time = createManualTime()
  const reader = processOn(disk, 100, time, sealing).store
  if (!(await reader.exists(SAMPLE_ID))) {
    assert.deepEqual(untouched, [], what)
    return
  }
  await reader.read(SAMPLE_ID)

  const first = processOn(disk, 101, time, sealing).store
  const log = await first.open(SAMPLE_ID)
  const kept = log.records.filter(record => record.type !== 'damage')
  const keptText = kept.map(record => JSON.stringify(record))
  for (const record of untouched)
    assert.ok(keptText.includes(JSON.stringify(record)), `${what}: lost ${record.seq}`)
  for (const text of keptText) assert.ok(all.includes(text), `${what}: made up ${text}`)
  assert.deepEqual(
    kept.map(record => record.seq),
    kept.map(record => record.seq).sort((a, b) => a - b),
    what,
  )
  if (kept.length < placed.length && !isSilent) assert.ok(log.damage.length > 0, `${what}: not named`)
  const told = log.records.filter(record => record.type === 'damage')
  assert.equal(told.length, log.damage.length, what)
  const [appended] = await log.append(prompt('new', null))
  assert.ok(appended && appended.seq > Math.max(0, ...untouched.map(record => record.seq)), what)
  await first.close()

  const second = processOn(disk, 102, time, sealing).store
  const again = await second.open(SAMPLE_ID)
  assert.deepEqual(again.damage, [], `${what}: told twice`)
  assert.deepEqual(again.records, log.records, what)
  await second.close()
}
