/** The first write of a session: its folder, segment 1, its header and records in one write, the syncs side by side. */
import { dirname, join } from 'node:path'
import type { SessionId, SessionRecord } from '@beige/protocol'
import type { Disk, SessionWorld } from '../outside.ts'
import { encodeBatch } from '../owned-log.ts'
import { type EncodedRecord, FIRST_PREV, type PreparedBody } from '../record-line.ts'
import { segmentName } from '../segment-lines.ts'
import type { SessionLines } from '../session-lines.ts'
import { removeSegments } from './base.ts'
import { createSegmentWriter, type SegmentWriter } from './segment-writer.ts'

export type NewLog = {
  writer: SegmentWriter
  records: readonly SessionRecord[]
  nextSeq: number
  prev: string
}

/** Null when the folder was there before: then somebody made it, or began to. */
export async function writeNewSession(
  place: { world: SessionWorld; root: string; incarnation: string },
  id: SessionId,
  lines: SessionLines,
  bodies: readonly PreparedBody[],
): Promise<NewLog | null> {
  const { root, incarnation } = place
  const { clock, disk } = place.world
  const folder = join(root, id)
  if (!(await makeFolder(disk, root, folder))) return null
  const file = await disk.create(join(folder, segmentName(1)))
  if (!file) return null
  const writer = createSegmentWriter({
    disk,
    id,
    folder,
    owner: incarnation,
    epoch: 1,
    file,
    sealed: new Map(),
    lastSeq: 0,
    prev: FIRST_PREV,
    unsynced: [folder, root],
  })
  const at = clock.now()
  const queued = bodies.map(body => ({ ...body, at }))
  let encoded: readonly EncodedRecord[] = []
  try {
    await writer.commit(epoch => {
      encoded = encodeBatch(lines, queued, epoch, 1, FIRST_PREV)
      return encoded
    })
  } catch (error) {
    await writer.release()
    await removeNeverMade(disk, folder, writer.epoch)
    throw error
  }
  const records = encoded.map(one => one.record)
  return { writer, records, nextSeq: records.length + 1, prev: encoded.at(-1)?.hash ?? FIRST_PREV }
}

async function makeFolder(disk: Disk, root: string, folder: string): Promise<boolean> {
  try {
    return await disk.makeDirectory(folder)
  } catch (error) {
    if (!isMissing(error)) throw error
    await makeRoot(disk, root)
    return disk.makeDirectory(folder)
  }
}

async function makeRoot(disk: Disk, path: string): Promise<void> {
  try {
    await disk.makeDirectory(path)
  } catch (error) {
    if (!isMissing(error) || dirname(path) === path) throw error
    await makeRoot(disk, dirname(path))
    await disk.makeDirectory(path)
  }
  await disk.syncDirectory(dirname(path))
}

/** What a failed creation left must not look like a session (H04). What can not be removed either is found empty. */
async function removeNeverMade(disk: Disk, folder: string, epoch: number): Promise<void> {
  await removeSegments(
    disk,
    folder,
    Array.from({ length: epoch }, (_, index) => index + 1),
  )
  try {
    await disk.removeDirectory(folder)
  } catch {
    // The error of the creation is the one to tell.
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}
