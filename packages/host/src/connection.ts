/** One connection of any transport: its viewer, the session it looks at now, and how it moves to another. */
import { isSessionId, type SessionId } from '@beige/protocol'
import { fail } from './errors.ts'
import type { NewSession, SessionHost } from './host.ts'
import type { LiveSession } from './live-session.ts'
import type { AttachAsk } from './viewers/attach-ask.ts'
import type { Unnumbered } from './viewers/frames.ts'
import type { Viewer } from './viewers/viewer.ts'

export interface Connection {
  readonly live: LiveSession
  /** What `origin.viewer` of frames calls it; null once it is closed. */
  readonly attachmentId: string | null
  /** Takes one command as it came off the wire. Answers by frames, never throws. */
  handle(command: unknown): Promise<void>
  /** A frame for this connection alone. */
  private(frame: Unnumbered): void
  /** Its other side has taken bytes. */
  drained(): void
  /** The session and its run go on. */
  close(): void
}

export type ConnectParts = {
  host: SessionHost
  viewer: Viewer
  id: SessionId
  /** What the session begins with when there is none of that id; null: it must be there. */
  fresh: NewSession | null
  /** Null: nothing of the past, e.g. for a single command. */
  ask: AttachAsk | null
}

/** Rejects with what kept the session from being opened. */
export async function connect({ host, viewer, id, fresh, ask }: ConnectParts): Promise<Connection> {
  let live = await host.session(id, fresh, viewer, ask)

  const movable = {
    moveTo: async (to: string) => {
      if (!isSessionId(to)) throw fail('not_found', { what: 'session', id: to })
      const next = await host.session(to, null)
      live.frames.attachmentOf(viewer)?.detach()
      live = next
      live.attach(viewer, {})
    },
  }

  return {
    get live() {
      return live
    },
    get attachmentId() {
      return live.frames.attachmentOf(viewer)?.id ?? null
    },
    handle: command => live.handle(command, viewer, movable),
    private: frame => live.frames.private(viewer, frame),
    drained: () => live.frames.attachmentOf(viewer)?.drained(),
    close: () => live.frames.attachmentOf(viewer)?.detach(),
  }
}
