/** A connection as the session sees it. A view, nothing more: losing every one of them changes nothing for a run. */

import type { Frame } from '@beige/protocol'
import type { AttachAsk } from './attach-ask.ts'

/** What a transport hands in. */
export interface Viewer {
  /** Who this is, from our side of the connection: `local`, a token's name, a channel. */
  readonly origin: { kind: string; name?: string }
  /** `view` may only look. Default `drive`. */
  readonly role?: 'drive' | 'view'
  /** Must not throw and must not block. `text` is the frame as JSON, made once for all viewers. */
  send(frame: Frame, text: string): void
  /** Bytes that it was sent and its other side has not taken. Absent: it always keeps up. */
  buffered?(): number
  /** The session is gone from here: no more frames. `code` is a close code of a WebSocket. */
  closed?(code: number, reason: string): void
}

/** A viewer that is attached to a session. */
export interface Attachment {
  /** What `ready` and the `origin` of frames call it. */
  readonly id: string
  readonly viewer: Viewer
  /** Its other side has taken bytes: what was held back goes on. */
  drained(): void
  /** Sends what `ask` asks for, see `AttachAsk`. */
  catchUp(ask: AttachAsk): void
  detach(): void
}
