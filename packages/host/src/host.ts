/** The session host: at most one live session per id, whatever asks for it and however often. */
import { openedSession } from '@beige/harness'
import {
  CLOSE,
  type Clock,
  isError,
  type Random,
  type SessionBody,
  type SessionId,
  STOPPING_WAIT_MS,
} from '@beige/protocol'
import type { SessionLog, SessionStore } from '@beige/sessions'
import { fail } from './errors.ts'
import { type LiveSession, startLiveSession } from './live-session.ts'
import type { MakeSetup, SessionSetup } from './setup.ts'
import type { AttachAsk } from './viewers/attach-ask.ts'
import type { Viewer } from './viewers/viewer.ts'

export type HostParts = {
  store: SessionStore
  makeSetup: MakeSetup
  clock: Clock
  random: Random
  /** Called when a session can not be opened before its last owner, which did not close it, counts as dead. */
  waiting?: (id: SessionId, atMostMs: number) => void
  /** After so long without a viewer or a run a session is released. Absent or 0: never. */
  idleReleaseMs?: number
  /** What a session here can be set to. */
  models?: () => readonly SessionSetup['model'][]
}

/** What a session begins with when there is none of that id. */
export type NewSession = Omit<SessionBody, 'type' | 'version' | 'id'>

export interface SessionHost {
  readonly store: SessionStore
  readonly clock: Clock
  models(): readonly SessionSetup['model'][]
  /**
   * The live session of this id: found here, opened from the store, or made of `fresh` (null: rejects `not_found`).
   * `viewer` is attached before a run that another owner left open goes on. Rejects with `stopping` where it is just being
   * released and that takes long.
   */
  session(
    id: SessionId,
    fresh: NewSession | null,
    viewer?: Viewer,
    ask?: AttachAsk | null,
  ): Promise<LiveSession>
  live(): readonly LiveSession[]
  /** Gives up one session; its run is aborted and recorded. Viewers are closed with `code`. */
  release(id: SessionId, reason: unknown, code?: number): Promise<void>
  /** Ends every run and gives up every session. */
  close(reason: unknown): Promise<void>
}

/** absent → starting → live → stopping → absent */
type Slot =
  | { state: 'starting'; live: Promise<LiveSession> }
  | { state: 'live'; live: LiveSession; idle: AbortController | null }
  | { state: 'stopping'; gone: Promise<void> }

const MAX_CREATIONS = 3 // each one more only when another process has just failed to make it

export function createHost(parts: HostParts): SessionHost {
  const { store, makeSetup, clock, random, idleReleaseMs = 0 } = parts
  const slots = new Map<SessionId, Slot>()
  let closing = false

  async function opened(id: SessionId, fresh: NewSession | null): Promise<SessionLog> {
    for (let tries = 1; ; tries++) {
      if (fresh && !(await store.exists(id))) {
        try {
          return await store.create({ ...fresh, id })
        } catch (error) {
          if (!isError(error, 'exists')) throw error // another process was quicker
        }
      }
      try {
        return await store.open(id, { waiting: ({ atMostMs }) => parts.waiting?.(id, atMostMs) })
      } catch (error) {
        // What was there a moment ago was a creation of another process, and it failed.
        if (!fresh || tries === MAX_CREATIONS || !isError(error, 'not_found')) throw error
      }
    }
  }

  async function start(
    id: SessionId,
    fresh: NewSession | null,
    viewer: Viewer | undefined,
    ask: AttachAsk | null,
  ): Promise<LiveSession> {
    const log = await opened(id, fresh)
    try {
      const session = openedSession(log)
      const setup = await makeSetup(session)
      return await startLiveSession({
        ...{ host, session, setup, clock, random, ask },
        ...(viewer ? { viewer } : {}),
        changed: () => watchIdle(id),
        superseded: () => void release(id, fail('closing'), CLOSE.superseded).catch(() => {}),
      })
    } catch (error) {
      await log.close()
      throw error
    }
  }

  function begun(id: SessionId, starting: Promise<LiveSession>): void {
    const slot: Slot = { state: 'starting', live: starting }
    slots.set(id, slot)
    starting.then(
      live => {
        if (slots.get(id) !== slot) return
        slots.set(id, { state: 'live', live, idle: null })
        watchIdle(id)
      },
      () => {
        if (slots.get(id) === slot) slots.delete(id)
      },
    )
  }

  function watchIdle(id: SessionId): void {
    const slot = slots.get(id)
    if (slot?.state !== 'live' || idleReleaseMs === 0) return
    if (!slot.live.isIdle) {
      slot.idle?.abort()
      slot.idle = null
      return
    }
    if (slot.idle) return
    const idle = new AbortController()
    slot.idle = idle
    clock.sleep(idleReleaseMs, idle.signal).then(
      () => release(id, new DOMException('nobody needs the session', 'AbortError'), CLOSE.released),
      () => {},
    )
  }

  async function release(id: SessionId, reason: unknown, code?: number): Promise<void> {
    const slot = slots.get(id)
    if (!slot) return
    if (slot.state === 'stopping') return slot.gone
    if (slot.state === 'live') slot.idle?.abort()
    const gone = Promise.resolve(slot.live)
      .then(live => live.close(reason, code))
      .finally(() => slots.delete(id))
    slots.set(id, { state: 'stopping', gone })
    return gone
  }

  async function session(
    id: SessionId,
    fresh: NewSession | null,
    viewer?: Viewer,
    ask: AttachAsk | null = null,
  ): Promise<LiveSession> {
    if (closing) throw fail('closing')
    const slot = slots.get(id)
    if (slot?.state === 'stopping') {
      const over = new AbortController()
      const late = clock
        .sleep(STOPPING_WAIT_MS, over.signal)
        .then(() => Promise.reject(fail('stopping', { id })))
      late.catch(() => {})
      await Promise.race([slot.gone.catch(() => {}), late]).finally(() => over.abort())
      return session(id, fresh, viewer, ask)
    }
    if (slot) {
      const live = await slot.live
      if (viewer) live.attach(viewer, ask)
      return live
    }
    const starting = start(id, fresh, viewer, ask)
    begun(id, starting)
    return starting
  }

  const host: SessionHost = {
    store,
    clock,
    models: () => parts.models?.() ?? [],
    session,
    live: () => [...slots.values()].flatMap(slot => (slot.state === 'live' ? [slot.live] : [])),
    release,
    close: async reason => {
      closing = true
      const ends = await Promise.allSettled([...slots.keys()].map(id => release(id, reason)))
      slots.clear()
      await store.close()
      const faults = ends.filter(end => end.status === 'rejected')
      for (const fault of faults) throw fault.reason // the first; nothing was left open for it
    },
  }
  return host
}
