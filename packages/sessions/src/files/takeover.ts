/** Becoming the owner of a session that is there: the steps of the page, in its order (Store `files`). */
import { dirname, join } from 'node:path'
import type { SessionId } from '@beige/protocol'
import { fail } from '../errors.ts'
import { type LogView, type SegmentBytes, type ViewOptions, viewLog } from '../log-view.ts'
import type { Disk } from '../outside.ts'
import { segmentEpochs, segmentName } from '../segment-lines.ts'
import type { SessionLines } from '../session-lines.ts'
import { createSegmentWriter, type SegmentWriter } from './segment-writer.ts'

/** `before`: the segments that were there. */
export type Takeover = { writer: SegmentWriter; view: LogView; before: readonly number[] }

const MAX_READ_TRIES = 8 // each one more only when a new owner has just put the log together anew

/** `lines` are those of `id`. */
export async function takeOver(
  disk: Disk,
  id: SessionId,
  folder: string,
  owner: string,
  lines: SessionLines,
): Promise<Takeover> {
  const epoch = (segmentEpochs((await disk.list(folder)) ?? []).at(-1) ?? 0) + 1
  const file = await disk.create(join(folder, segmentName(epoch)))
  if (!file) throw fail('session_busy', { id, owner: `the maker of segment ${epoch}` })
  // From here on nothing more of the owner before is acknowledged, so what is read now is all there will be.
  // The folder's own entry too: its maker may have died before that was durable.
  await Promise.all([disk.syncDirectory(folder), disk.syncDirectory(dirname(folder))])
  const segments = await readSegments(disk, folder, before => before < epoch)
  const view = viewLog(segments, { tail: 'damage', id, lines })
  // Its owner may have died between a write and its sync, and what we seal in and go on from must outlive the power.
  const newest = view.parts.at(-1)
  if (newest) await disk.syncFile(join(folder, segmentName(newest.epoch)))
  const writer = createSegmentWriter({
    disk,
    id,
    folder,
    owner,
    epoch,
    file,
    sealed: sealsOf(view, segments),
    lastSeq: view.nextSeq - 1,
    prev: view.prev,
  })
  await writer.begin()
  return { writer, view, before: segments.map(one => one.epoch) }
}

/** Reads the log of somebody who may be writing it. Null when there is no such folder. */
export async function viewFolder(disk: Disk, folder: string, options: ViewOptions): Promise<LogView | null> {
  for (let tries = 1; ; tries++) {
    const before = await disk.list(folder)
    if (!before) return null
    const segments = await readSegments(disk, folder, () => true)
    // The lowest goes first when a base has taken its place, and then what we have read may be neither whole.
    const after = segmentEpochs((await disk.list(folder)) ?? [])
    const isSteady = after[0] === segmentEpochs(before)[0]
    if (isSteady || tries === MAX_READ_TRIES) return viewLog(segments, options)
  }
}

async function readSegments(
  disk: Disk,
  folder: string,
  isWanted: (epoch: number) => boolean,
): Promise<SegmentBytes[]> {
  const segments: SegmentBytes[] = []
  for (const epoch of segmentEpochs((await disk.list(folder)) ?? []).filter(isWanted)) {
    const bytes = await disk.read(join(folder, segmentName(epoch)))
    if (bytes) segments.push({ epoch, bytes })
  }
  return segments
}

/** Of every segment since the last base; those above the newest owner's end at 0, their makers never became one. */
function sealsOf(view: LogView, segments: readonly SegmentBytes[]): Map<number, number> {
  const first = view.parts[0]?.epoch ?? 0
  const seals = new Map<number, number>()
  for (const { epoch } of segments) if (epoch >= first) seals.set(epoch, 0)
  for (const { epoch, end } of view.parts) seals.set(epoch, end)
  return seals
}
