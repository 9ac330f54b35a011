/** Who owns a session: one start of one process, never a host or a pid (H11). */
import type { Random } from '@beige/protocol'

export const HEARTBEAT_MS = 1000
/** Without a heartbeat for this long an owner is taken for dead. */
export const EXPIRY_MS = 3000
/** Before others may take it for dead, an owner that is not confirmed stops by itself (service-mode.md). */
export const SELF_FENCE_MS = 2500
/** How often somebody who waits looks again. */
export const WATCH_MS = 250

const INCARNATION_BYTES = 16

export function newIncarnation(random: Random): string {
  return Buffer.from(random.bytes(INCARNATION_BYTES)).toString('hex')
}
