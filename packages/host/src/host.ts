/** The session host: at most one live session per id, whatever asks for it and however often. */
import { openedSession } from '@beige/harness'
import type { Clock, Random, SessionBody, SessionId } from '@beige/protocol'
import type { SessionStore } from '@beige/sessions'
import { fail } from './errors.ts'
import { type LiveSession, startLiveSession } from './live-session.ts'
import type { MakeSetup } from './setup.ts'

export type HostParts = { store: SessionStore; makeSetup: MakeSetup; clock: Clock; random: Random }

/** What a session begins with when there is none of that id. */
export type NewSession = Omit<SessionBody, 'type' | 'version' | 'id'>

export interface SessionHost {
  /** The live session of this id: found here, opened from the store, or made of `fresh` (null: rejects `not_found`). */
  session(id: SessionId, fresh: NewSession | null): Promise<LiveSession>
  live(): readonly LiveSession[]
  /** Ends every run and gives up every session. */
  close(reason: unknown): Promise<void>
}

export function createHost(parts: HostParts): SessionHost {
  const { store, makeSetup, clock, random } = parts
  const sessions = new Map<SessionId, Promise<LiveSession>>()
  const started = new Map<SessionId, LiveSession>()
  let closing = false

  async function start(id: SessionId, fresh: NewSession | null): Promise<LiveSession> {
    const log =
      fresh && !(await store.exists(id)) ? await store.create({ ...fresh, id }) : await store.open(id)
    try {
      const session = openedSession(log)
      const live = await startLiveSession({ session, setup: await makeSetup(session), clock, random })
      started.set(id, live)
      return live
    } catch (error) {
      await log.close()
      throw error
    }
  }

  return {
    session: (id, fresh) => {
      if (closing) return Promise.reject(fail('closing'))
      const known = sessions.get(id)
      if (known) return known
      const starting = start(id, fresh)
      sessions.set(id, starting)
      starting.catch(() => sessions.delete(id))
      return starting
    },
    live: () => [...started.values()],
    close: async reason => {
      closing = true
      const all = await Promise.allSettled(sessions.values())
      await Promise.all(all.map(one => (one.status === 'fulfilled' ? one.value.close(reason) : undefined)))
      sessions.clear()
      started.clear()
      await store.close()
    },
  }
}
