/** Stored lines to one history: which are records, what is damaged or missing (design page "Sessions", Opening any log). */
import type { SessionId, SessionRecord } from '@beige/protocol'
import { createChain, type FoundDamage } from '../chain.ts'
import { lineHash } from '../record-line.ts'
import { checkReadable, type ReadLine, type SessionLines } from '../session-lines.ts'
import type { History, StoredLine } from './tables.ts'

export type StoredHistory = {
  records: readonly SessionRecord[]
  nextSeq: number
  prev: string
  untold: readonly FoundDamage[]
  /** Lines that are there and are no part of the history. */
  damaged: readonly FoundDamage[]
}

/** Throws `no_key`, `wrong_seal` and `not_sealed`. */
export function viewHistory({ head, lines }: History, id: SessionId, reading: SessionLines): StoredHistory {
  const chain = createChain()
  const found = lines.map(({ line }) => reading.read(line))
  checkReadable(id, found)
  const decoded = lines.map((line, index) => recordIn(line, found[index] ?? null))
  for (const [index, line] of lines.entries()) {
    const record = decoded[index]
    if (record)
      chain.record(record, lineHash(line.line), placeOf(line, 'out of order'), decoded[index + 1] ?? null)
    else chain.damaged(placeOf(line, 'unreadable'))
  }
  const end = { seq: head.lastSeq + 1, epoch: head.epoch, line: new Uint8Array(0) }
  chain.reached(head.lastSeq, head.prev, placeOf(end, 'missing'))
  const view = chain.end()
  const damaged = [...view.told, ...view.untold].filter(one => one.bytes.length > 0)
  return {
    ...view,
    damaged,
    nextSeq: head.lastSeq + 1,
    prev: view.nextSeq > head.lastSeq + 1 ? view.prev : head.prev,
  }
}

/** Null also for a record that was put where another one belongs. */
function recordIn({ seq, epoch }: StoredLine, found: ReadLine | null): SessionRecord | null {
  if (found?.kind !== 'record') return null
  return found.record.seq === seq && found.record.epoch === epoch ? found.record : null
}

/** `offset` is the row's `seq`, which names it as an offset names bytes of a file. */
function placeOf({ seq, line }: StoredLine, reason: string): FoundDamage {
  return { segment: 'records', offset: seq, length: line.length, seqs: [], reason, bytes: line }
}
