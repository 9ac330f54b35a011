/** The connections that listen: heartbeats, signs of life, tokens that were taken away. One ticker for all of them. */
import type { Connection } from '@beige/host'
import { CLOSE, type Clock, HEARTBEAT_MS, PING_MS, SILENCE_MS } from '@beige/protocol'
import type { KnownToken, Tokens } from './tokens.ts'

const TICK_MS = 1000

/** One open connection of a listener. Times are monotonic ms. */
export type OpenViewer = {
  readonly token: KnownToken | null
  /** Null while its session is being opened. */
  connection: Connection | null
  sentAt: number
  pingedAt: number
  /** When its other side last showed a sign of life: took bytes, or answered a ping. */
  aliveAt: number
  /** Absent where the transport has no ping. */
  ping?(): void
  close(code: number, reason: string): void
}

export interface OpenViewers {
  readonly size: number
  add(viewer: OpenViewer): () => void
  closeAll(code: number, reason: string): void
  /** Ends the ticker. */
  stop(): void
}

/** `everyTick` is called each second, beside. */
export function createOpenViewers(clock: Clock, tokens: Tokens | null, everyTick: () => void): OpenViewers {
  const open = new Set<OpenViewer>()

  function tick(): void {
    everyTick()
    const now = clock.monotonic()
    const isTokenGone = tokens?.refresh() ?? false
    for (const viewer of open) {
      if (isTokenGone && viewer.token && !tokens?.has(viewer.token.digest)) {
        viewer.close(CLOSE.tokenRemoved, 'the token was removed')
      } else if (now - viewer.aliveAt >= SILENCE_MS) {
        viewer.close(CLOSE.silent, 'no sign of life')
      } else {
        if (now - viewer.sentAt >= HEARTBEAT_MS) viewer.connection?.private({ type: 'heartbeat' })
        if (viewer.ping && now - viewer.pingedAt >= PING_MS) {
          viewer.pingedAt = now
          viewer.ping()
        }
      }
    }
  }

  const timer = setInterval(tick, TICK_MS)
  timer.unref()
  return {
    get size() {
      return open.size
    },
    add: viewer => {
      open.add(viewer)
      return () => open.delete(viewer)
    },
    closeAll: (code, reason) => {
      for (const viewer of [...open]) viewer.close(code, reason)
    },
    stop: () => clearInterval(timer),
  }
}
