/**
 * Moves the sessions of a tenant to the key that writes now: one statement a session replaces all of its lines, under the
 * same fence as an append. What a kill leaves is found again by the keys that its lines name.
 */
import { type Clock, messageOf, type SessionId } from '@beige/protocol'
import { fail } from '../errors.ts'
import { encodeAgain } from '../sealing/encode-again.ts'
import type { Sealing } from '../sealing/sealing.ts'
import { kidOf } from '../session-lines.ts'
import { rowOf } from '../session-row.ts'
import { viewHistory } from './history.ts'
import { untilSettled } from './settle.ts'
import type { Head, History, SessionTables } from './tables.ts'

/** `head`: as it is while nobody else can write it. */
export async function rewrapSession(
  parts: { tables: SessionTables; clock: Clock; sealing: Sealing },
  id: SessionId,
  head: Head,
): Promise<void> {
  const { tables, clock, sealing } = parts
  const settled = <T>(action: () => Promise<T>) => untilSettled(clock, action)
  const history = await settled(() => tables.wholeHistory(id))
  if (!history || history.head.epoch !== head.epoch)
    throw fail('session_superseded', { id, epoch: head.epoch })
  const lines = sealing.lines(id)
  const { records, damaged } = viewHistory(history, id, lines)
  // What is left out now is nowhere else.
  await settled(() => tables.quarantine(id, damaged))
  const encoded = encodeAgain(records, lines)
  try {
    const isWritten = await settled(() => tables.rewrite(id, history.head, encoded, rowOf(id, records)))
    if (!isWritten) throw fail('session_superseded', { id, epoch: head.epoch })
  } catch (error) {
    throw fail('storage', { id, what: 'writing it anew', reason: messageOf(error) }, error)
  }
  for (const { seq, hash, line } of await settled(() => tables.quarantined(id))) {
    const text = sealing.sealText(Buffer.from(line).toString('base64'))
    if (!isSealedCopy(line, sealing))
      await settled(() => tables.replaceCopy(id, seq, hash, Buffer.from(text)))
  }
}

/** True when every line and every copy of a damaged one is under the key that writes now. */
export async function isRewrapped(
  tables: SessionTables,
  id: SessionId,
  history: History,
  sealing: Sealing,
): Promise<boolean> {
  if (!history.lines.every(({ line }) => kidOf(line) === sealing.kid)) return false
  return (await tables.quarantined(id)).every(({ line }) => isSealedCopy(line, sealing))
}

function isSealedCopy(line: Uint8Array, { kid }: Sealing): boolean {
  return Buffer.from(line).toString('latin1', 0, 12).startsWith(`l2.${kid}:`)
}
