/** The session host: at most one live session per id, whatever asks for it and however often. */
import { openedSession } from '@beige/harness'
import { type Clock, isError, type Random, type SessionBody, type SessionId } from '@beige/protocol'
import type { SessionLog, SessionStore } from '@beige/sessions'
import { fail } from './errors.ts'
import type { Viewer } from './frames.ts'
import { type LiveSession, startLiveSession } from './live-session.ts'
import type { MakeSetup } from './setup.ts'

export type HostParts = {
  store: SessionStore
  makeSetup: MakeSetup
  clock: Clock
  random: Random
  /** Called when a session can not be opened before its last owner, which did not close it, counts as dead. */
  waiting?: (id: SessionId, atMostMs: number) => void
}

/** What a session begins with when there is none of that id. */
export type NewSession = Omit<SessionBody, 'type' | 'version' | 'id'>

export interface SessionHost {
  /**
   * The live session of this id: found here, opened from the store, or made of `fresh` (null: rejects `not_found`).
   * `viewer` is attached before a run that another owner left open goes on.
   */
  session(id: SessionId, fresh: NewSession | null, viewer?: Viewer): Promise<LiveSession>
  live(): readonly LiveSession[]
  /** Ends every run and gives up every session. */
  close(reason: unknown): Promise<void>
}

export function createHost(parts: HostParts): SessionHost {
  const { store, makeSetup, clock, random } = parts
  const sessions = new Map<SessionId, Promise<LiveSession>>()
  const started = new Map<SessionId, LiveSession>()
  let closing = false

  async function opened(id: SessionId, fresh: NewSession | null): Promise<SessionLog> {
    if (fresh && !(await store.exists(id))) {
      try {
        return await store.create({ ...fresh, id })
      } catch (error) {
        if (!isError(error, 'exists')) throw error // another process was quicker
      }
    }
    return await store.open(id, { waiting: ({ atMostMs }) => parts.waiting?.(id, atMostMs) })
  }

  async function start(id: SessionId, fresh: NewSession | null, viewer?: Viewer): Promise<LiveSession> {
    const log = await opened(id, fresh)
    try {
      const session = openedSession(log)
      const setup = await makeSetup(session)
      const live = await startLiveSession({ session, setup, clock, random, ...(viewer ? { viewer } : {}) })
      started.set(id, live)
      return live
    } catch (error) {
      await log.close()
      throw error
    }
  }

  return {
    session: (id, fresh, viewer) => {
      if (closing) return Promise.reject(fail('closing'))
      const known = sessions.get(id)
      if (known) {
        if (viewer) known.then(live => live.attach(viewer)).catch(() => {}) // the caller hears of it by what is answered
        return known
      }
      const starting = start(id, fresh, viewer)
      sessions.set(id, starting)
      starting.catch(() => sessions.delete(id))
      return starting
    },
    live: () => [...started.values()],
    close: async reason => {
      closing = true
      const all = await Promise.allSettled(sessions.values())
      const ends = all.map(one => (one.status === 'fulfilled' ? one.value.close(reason) : undefined))
      const faults = (await Promise.allSettled(ends)).filter(end => end.status === 'rejected')
      sessions.clear()
      started.clear()
      await store.close()
      for (const fault of faults) throw fault.reason // the first; nothing was left open for it
    },
  }
}
