/**
 * Says each second that this process lives, in one row of the database, while it owns a session there. Others go by the
 * database's clock alone. It is for liveness; the fence decides what becomes history.
 */
import type { Clock, SessionId } from '@beige/protocol'
import { fail } from '../errors.ts'
import { HEARTBEAT_MS, SELF_FENCE_MS } from '../incarnation.ts'
import type { Ticker } from '../outside.ts'
import type { Replica, ReplicaTable } from './tables.ts'

export interface Lease {
  /** Begins to own one session, or to open it; each has its `end`. */
  hold(): void
  end(): void
  /** While held: others see this process alive when it resolves. */
  confirmed(): Promise<void>
  /** Throws `self_fenced` where no heartbeat was confirmed for so long that others may take this process for dead. */
  confirm(id: SessionId): void
  close(): Promise<void>
}

export function createLease(parts: {
  table: ReplicaTable
  replica: Replica
  clock: Clock
  ticker: Ticker
  /** Null: an owner that was paused or cut off goes on until the fence stops it. */
  silent: (() => void) | null
}): Lease {
  const { table, replica, clock, ticker, silent } = parts
  let owned = 0
  let confirmedAt = Number.NEGATIVE_INFINITY
  let first: Promise<void> | null = null
  let stop: (() => void) | null = null
  let wasHere = false

  const silentMs = () => clock.monotonic() - confirmedAt

  async function beat(): Promise<void> {
    const sentAt = clock.monotonic()
    await table.beat(replica)
    wasHere = true
    confirmedAt = sentAt
  }

  async function tick(): Promise<void> {
    try {
      await beat()
    } catch {
      // The next second tries again.
    }
    if (silent && stop && silentMs() > SELF_FENCE_MS) silent()
  }

  function halt(): void {
    stop?.()
    stop = null
    first = null
  }

  return {
    hold() {
      owned++
      stop ??= ticker.every(HEARTBEAT_MS, tick)
    },
    async confirmed() {
      first ??= beat()
      try {
        await first
      } catch (error) {
        first = null
        throw error
      }
    },
    end() {
      if (--owned === 0) halt()
    },
    confirm(id) {
      if (silent && silentMs() > SELF_FENCE_MS)
        throw fail('self_fenced', { id, silentMs: Math.round(silentMs()) })
    },
    async close() {
      halt()
      if (!wasHere) return
      try {
        await table.leave(replica.incarnation)
      } catch {
        // It expires.
      }
    },
  }
}
