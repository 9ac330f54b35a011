/** What a command's handler is handed. */
import type { CommandOf, CommandType } from '@beige/protocol'
import type { LiveSession } from '../live-session.ts'
import type { Unnumbered } from '../viewers/frames.ts'
import type { Viewer } from '../viewers/viewer.ts'

/** The connection that a command came on; absent where there is none to move. */
export interface MovableConnection {
  /** Leaves the session and attaches to another one, whose `ready` comes next. */
  moveTo(sessionId: string): Promise<void>
}

export type CommandContext = {
  live: LiveSession
  viewer: Viewer
  connection: MovableConnection | null
  /** What names the command in its answers. */
  names: { id?: string; command: string }
  warnings: readonly string[]
  /** To its sender alone. */
  answer(frame: Unnumbered): void
}

/** Answers the `data` of the response, or null where it has answered by itself. A throw becomes a failed response. */
export type Handler<T extends CommandType> = (
  command: CommandOf<T>,
  context: CommandContext,
) => Promise<Record<string, unknown> | null> | Record<string, unknown> | null

export type HandlerTable = { readonly [T in CommandType]?: Handler<T> }
