/** What both versions of the tool socket share: limits, what they are given, the idle clock. */
import type { CallStreams } from '@beige/harness'
import type { CallId, ToolExit, ToolRequest } from '@beige/protocol'
import type { FoundCall } from './call-tokens.ts'

export const MAX_REQUESTS = 32 // at once, on one connection
export const HELLO_TIMEOUT_MS = 5_000
export const IDLE_TIMEOUT_MS = 60_000

export type ConnectionParts = {
  agent: string
  idleMs: number
  helloMs: number
  /** Null: refused, and already written down why. */
  identify(token: string): FoundCall | null
  run(call: {
    request: Pick<ToolRequest, 'tool' | 'args' | 'args_b64' | 'cwd'>
    from: FoundCall | null
    streams: CallStreams
    signal: AbortSignal
    onStarted(callId: CallId): void
  }): Promise<ToolExit>
  /** Work that belongs to the connection and must have ended before the gateway is. */
  track(work: Promise<unknown>): void
}

/** Closes the connection when it has had no call for `idleMs`; half a frame a minute is no call. */
export interface IdleClock {
  busy(): void
  free(): void
  stop(): void
}

export function idleClock(ms: number, expire: () => void): IdleClock {
  let timer: NodeJS.Timeout | null = null
  let running = 0
  let isStopped = false
  const arm = () => {
    // A call may end after its connection: a clock that began anew would hold the process for `ms`.
    if (!isStopped) timer = setTimeout(expire, ms)
  }
  const disarm = () => {
    if (timer !== null) clearTimeout(timer)
    timer = null
  }
  arm()
  return {
    busy() {
      running++
      disarm()
    },
    free() {
      running--
      if (running === 0) arm()
    },
    stop() {
      isStopped = true
      disarm()
    },
  }
}
