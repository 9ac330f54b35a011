/** Ends an attempt that has gone silent: a server may hold a connection open and never say another word. */
import type { Clock } from '@beige/protocol'
import type { Timeouts } from './provider-config.ts'

export type Watchdog = {
  /** A byte came, be it only to keep the connection alive. */
  sound(): void
  /** A piece of the answer came. */
  token(): void
  /** What it waited for in vain; null while it has not fired. */
  silence(): string | null
  stop(): Promise<void>
}

export function createWatchdog(clock: Clock, timeouts: Timeouts, onSilence: () => void): Watchdog {
  const startMs = clock.monotonic()
  const stopped = new AbortController()
  let soundMs = startMs
  let hasToken = false
  let silence: string | null = null

  const check = (): number => {
    const now = clock.monotonic()
    const idleLeft = soundMs + timeouts.idleMs - now
    const tokenLeft = hasToken ? Number.POSITIVE_INFINITY : startMs + timeouts.firstTokenMs - now
    if (idleLeft <= 0) silence = `nothing came for ${timeouts.idleMs / 1000} s`
    else if (tokenLeft <= 0) silence = `no answer began within ${timeouts.firstTokenMs / 1000} s`
    return Math.min(idleLeft, tokenLeft)
  }
  const watch = async (): Promise<void> => {
    while (!stopped.signal.aborted) {
      const leftMs = check()
      if (silence !== null) return onSilence()
      await clock.sleep(leftMs, stopped.signal).catch(() => undefined) // rejects when stopped, and the loop ends
    }
  }
  const watching = watch()
  return {
    sound: () => {
      soundMs = clock.monotonic()
    },
    token: () => {
      hasToken = true
    },
    silence: () => silence,
    stop: () => {
      stopped.abort()
      return watching
    },
  }
}
