/**
 * Writes the records of one owned session. An answer that was lost is looked up before anything else is written, and
 * what can not be settled in time is never taken for written or for not written.
 */
import { type BeigeError, type Clock, isError, messageOf, type SessionId } from '@beige/protocol'
import { fail } from '../errors.ts'
import type { LogBackend } from '../owned-log.ts'
import type { EncodedRecord } from '../record-line.ts'
import { isRowDue, moveRow, type RowState } from '../session-row.ts'
import type { Lease } from './lease.ts'
import { STORE_WAIT_MS, untilSettled } from './settle.ts'
import type { Head, SessionTables } from './tables.ts'

export function createPostgresBackend(parts: {
  id: SessionId
  tables: SessionTables
  clock: Clock
  lease: Lease
  head: Head
  row: RowState
}): LogBackend {
  const { id, tables, clock, lease } = parts
  const { epoch } = parts.head
  let { head, row } = parts
  /** As the listing has it: other appends change no index. */
  let listed = parts.row.row

  /** True when all of it is there; false when nothing of it is, and nothing of it is under way. */
  async function isWritten(after: Head): Promise<boolean> {
    const now = await tables.head(id)
    if (now && isSame(now, after)) return true
    if (now && isSame(now, head)) return false
    throw fail('session_superseded', { id, epoch })
  }

  async function write(
    encoded: readonly EncodedRecord[],
    after: Head,
    listed: RowState | null,
  ): Promise<void> {
    let isInDoubt = false
    try {
      await untilSettled(clock, async () => {
        if (isInDoubt && (await isWritten(after))) return
        try {
          if (await tables.append(id, head, encoded, listed?.row ?? null)) return
        } catch (error) {
          isInDoubt ||= isError(error, 'answer_lost')
          throw error
        }
        if (!(await isWritten(after))) throw fail('session_superseded', { id, epoch })
      })
    } catch (error) {
      if (isError(error, 'session_superseded')) throw error
      if (isInDoubt) throw fail('outcome_unknown', { id }, error)
      throw storage('the write', error)
    }
  }

  function storage(what: string, error: unknown): BeigeError {
    return fail('storage', { id, what, reason: messageOf(error) }, error)
  }

  return {
    epoch,
    async commit(encode) {
      lease.confirm(id)
      const encoded = encode(epoch)
      const last = encoded.at(-1)
      if (!last) return
      const after = { ...head, lastSeq: last.record.seq, prev: last.hash }
      const moved = encoded.map(one => one.record).reduce(moveRow, row)
      const isDue = isRowDue(listed, moved.row)
      await write(encoded, after, isDue ? moved : null)
      if (isDue) listed = moved.row
      head = after
      row = moved
      // The ack must not leave here when others may already take us for dead.
      lease.confirm(id)
    },
    async release() {
      try {
        await untilSettled(clock, () => tables.release(id, head, row.row), STORE_WAIT_MS / 5)
      } catch {
        // The next owner waits for the expiry instead.
      }
    },
  }
}

function isSame(a: Head, b: Head): boolean {
  return a.epoch === b.epoch && a.owner === b.owner && a.lastSeq === b.lastSeq && a.prev === b.prev
}
