/** What an opener of a session would find damaged, without becoming its owner or changing a byte. */
import { join } from 'node:path'
import type { DamageBody, SessionId, SessionRecord } from '@beige/protocol'
import type { FoundDamage } from '../chain.ts'
import type { Disk } from '../outside.ts'
import type { Sealing } from '../sealing/sealing.ts'
import { segmentEpochs, segmentName } from '../segment-lines.ts'
import { plainLines } from '../session-lines.ts'
import type { Damage } from '../store.ts'
import { viewFolder } from './takeover.ts'

/** `isTold`: a `damage` record names it already. `isLeftOut`: its bytes are in the log no more, a copy is in quarantine. */
export type FoundProblem = Damage & { isTold: boolean; isLeftOut: boolean }

export type LogReport = {
  records: readonly SessionRecord[]
  segments: number
  bytes: number
  problems: readonly FoundProblem[]
  /** Names of files with copies of what could not be read. */
  quarantines: readonly string[]
}

/** Null when there is no such folder, or no segment in it. */
export async function checkFolder(
  disk: Disk,
  folder: string,
  id: SessionId,
  sealing?: Sealing,
): Promise<LogReport | null> {
  const names = (await disk.list(folder)) ?? []
  const epochs = segmentEpochs(names)
  const view =
    epochs.length > 0
      ? await viewFolder(disk, folder, { tail: 'damage', id, lines: sealing?.lines(id) ?? plainLines })
      : null
  if (!view) return null
  let bytes = 0
  for (const epoch of epochs) bytes += (await disk.read(join(folder, segmentName(epoch))))?.length ?? 0
  const tellers = view.records.flatMap(record => (record.type === 'damage' ? [record] : []))
  const isThere = (damage: FoundDamage) => damage.bytes.length > 0
  const leftOut = tellers.filter(told => !view.told.some(found => isThere(found) && isOf(told, found)))
  return {
    records: view.records,
    segments: epochs.length,
    bytes,
    problems: [
      ...view.told.filter(isThere).map(damage => problem(damage, true)),
      ...leftOut.map(told => ({ ...toldProblem(told), isTold: true, isLeftOut: true })),
      ...view.untold.map(damage => problem(damage, false)),
    ],
    quarantines: names.filter(name => name.endsWith('.quarantine')).sort(),
  }
}

function problem({ bytes: _, ...damage }: FoundDamage, isTold: boolean): FoundProblem {
  return { ...damage, isTold, isLeftOut: false }
}

function toldProblem({ segment, offset, length, seqs = [], reason = 'unreadable' }: DamageBody): Damage {
  return { segment, offset, length, seqs, reason }
}

function isOf(told: DamageBody, found: FoundDamage): boolean {
  const isSamePlace = told.segment === found.segment && told.offset === found.offset
  return (
    isSamePlace || (told.seqs ?? []).some(seq => found.seqs.includes(seq)) || told.length === found.length
  )
}
