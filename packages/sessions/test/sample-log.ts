/** A log as a few owners leave it on a disk in memory: released, killed, put together to a base. */
import { type SessionId, type SessionRecord, systemRandom } from '@beige/protocol'
import { createFilesStore } from '../src/files/index.ts'
import { createSealing, type Sealing } from '../src/sealing/sealing.ts'
import { segmentEpochs, segmentName } from '../src/segment-lines.ts'
import { parseSegment } from '../src/segment-parse.ts'
import type { RewrappableStore } from '../src/store.ts'
import { createManualTime, type ManualTime } from './manual-time.ts'
import { createMemoryDisk, type MemoryDisk } from './memory-disk.ts'
import { answer, finished, prompt, seededRandom, sessionId, started } from './sample-records.ts'

export const SAMPLE_ID: SessionId = sessionId('s_sample')
export const SAMPLE_FOLDER = `/sessions/${SAMPLE_ID}`

/** Sealing of one tenant; the first key writes. `7` is the key of 32 bytes of 7. */
export function sealingWith(...keys: readonly number[]): Sealing {
  return createSealing({
    tenant: 't-1',
    keys: keys.map(key => Buffer.alloc(32, key)),
    random: systemRandom,
  })
}

export function processOn(
  disk: MemoryDisk,
  seed: number,
  time: ManualTime = createManualTime(),
  sealing?: Sealing,
): { store: RewrappableStore; kill: () => void } {
  const ticker = time.ticker()
  const store = createFilesStore({
    root: '/sessions',
    disk,
    clock: time.clock,
    random: seededRandom(seed),
    ticker,
    ...(sealing ? { sealing } : {}),
  })
  return { store, kill: ticker.freeze }
}

/** `owners` that follow each other; each third one is killed, the others release. The last one is `last`. */
export async function sampleLog(
  owners: number,
  last: 'killed' | 'released',
  sealing?: Sealing,
): Promise<MemoryDisk> {
  const disk = createMemoryDisk()
  const time = createManualTime()
  for (let owner = 1; owner <= owners; owner++) {
    const { store, kill } = processOn(disk, owner, time, sealing)
    const log =
      owner === 1
        ? await store.create({ id: SAMPLE_ID, cwd: '/w', model: 'm', meta: { n: 1 } })
        : await store.open(SAMPLE_ID)
    const parent = owner === 1 ? null : `m${owner - 1}b`
    const call = `c${owner}`
    await log.append(prompt(`p${owner}`, parent, `Größe ${'😀'.repeat(owner)} \u0000 {"seq":1} \n`))
    await log.append(answer(`m${owner}a`, `p${owner}`, [call]), started(call))
    await Promise.all([log.append(finished(call)), log.append(answer(`m${owner}b`, `m${owner}a`))])
    await log.append({ type: 'run_end', run_id: `p${owner}`, outcome: 'done', steps: 2 })
    const isKilled = owner === owners ? last === 'killed' : owner % 3 === 0
    if (isKilled) kill()
    else await store.close()
  }
  return disk
}

export type PlacedRecord = { segment: string; start: number; end: number; record: SessionRecord }

/** Where each record lies; its newline is counted. */
export function placedRecords(disk: MemoryDisk, sealing?: Sealing): PlacedRecord[] {
  return segmentFiles(disk).flatMap(({ name, epoch, bytes }) =>
    parseSegment(epoch, bytes, undefined, sealing?.lines(SAMPLE_ID)).pieces.flatMap(piece =>
      piece.kind === 'record'
        ? [{ segment: name, start: piece.offset, end: piece.offset + piece.length, record: piece.record }]
        : [],
    ),
  )
}

export function segmentFiles(
  disk: MemoryDisk,
): { name: string; path: string; epoch: number; bytes: Buffer }[] {
  const names = [...disk.files.keys()]
    .filter(path => path.startsWith(`${SAMPLE_FOLDER}/`))
    .map(path => path.slice(SAMPLE_FOLDER.length + 1))
  return segmentEpochs(names).map(epoch => {
    const name = segmentName(epoch)
    const path = `${SAMPLE_FOLDER}/${name}`
    return { name, path, epoch, bytes: disk.files.get(path)?.bytes ?? Buffer.alloc(0) }
  })
}
