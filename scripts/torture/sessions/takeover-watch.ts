/** How long sessions are without an owner: from the moment their owner was hurt until another process says that it has them. */
import type { SessionId } from '@beige/protocol'

export const TAKEOVERS = ['kill', 'cut', 'graceful'] as const
export type TakeoverKind = (typeof TAKEOVERS)[number]
export type TakeoverTimes = Readonly<Record<TakeoverKind, readonly number[]>>

export interface TakeoverWatch {
  /** A process says that it has the session; one that does not know yet that it was taken over has a lower epoch. */
  opened(session: SessionId, pid: number, epoch: number): void
  /** Its owner is lost now; the sessions that it had. `kind` null: not measured. */
  lost(pid: number, kind: 'kill' | 'cut' | null): readonly SessionId[]
  /** Its owner was told to stop; each session is measured from when it says that it gives it up. */
  leaving(pid: number): readonly SessionId[]
  /** False where nobody waits for it. */
  releasing(session: SessionId, pid: number): boolean
  isAwaited(session: SessionId): boolean
  /** What is awaited now is not measured: something else is in its way. */
  disturbed(): void
  times(): TakeoverTimes
}

export function createTakeoverWatch(now: () => number): TakeoverWatch {
  const owners = new Map<SessionId, { pid: number; epoch: number }>()
  const awaited = new Map<SessionId, { from: number; kind: TakeoverKind | null; pid: number }>()
  const times: Record<TakeoverKind, number[]> = { kill: [], cut: [], graceful: [] }

  const ownedBy = (pid: number) =>
    [...owners].flatMap(([session, owner]) => (owner.pid === pid ? [session] : []))

  function wait(pid: number, kind: TakeoverKind | null): SessionId[] {
    const sessions = ownedBy(pid)
    for (const session of sessions) awaited.set(session, { from: now(), kind, pid })
    return sessions
  }

  return {
    opened(session, pid, epoch) {
      const one = awaited.get(session)
      if (one?.pid === pid || epoch < (owners.get(session)?.epoch ?? 0)) return
      owners.set(session, { pid, epoch })
      awaited.delete(session)
      if (one?.kind) times[one.kind].push(now() - one.from)
    },
    lost: wait,
    leaving: pid => wait(pid, null),
    releasing(session, pid) {
      if (awaited.get(session)?.pid !== pid) return false
      awaited.set(session, { from: now(), kind: 'graceful', pid })
      return true
    },
    isAwaited: session => awaited.has(session),
    disturbed() {
      for (const [session, one] of awaited) awaited.set(session, { ...one, kind: null })
    },
    times: () => times,
  }
}
