/** Commands that wait for their answer, and which of them may be sent again over a new connection. */
import { type CommandType, commandRules, type FrameOf } from '@beige/protocol'

export type Pending = {
  type: CommandType
  /** What is sent, with its id. */
  text: string
  onAck?: (ack: FrameOf<'ack'>) => void
  resolve(response: FrameOf<'response'>): void
  reject(error: unknown): void
}

/** Commands that take a key: sent twice with the same one they take effect once. */
export const KEYED: ReadonlySet<CommandType> = new Set(['prompt', 'steer', 'follow_up', 'bash', 'fork'])
// Twice is as good as once.
const REPEATABLE: ReadonlySet<CommandType> = new Set(['abort', 'abort_bash', 'abort_retry', 'kill_job'])

export function maySendAgain(type: CommandType): boolean {
  return KEYED.has(type) || REPEATABLE.has(type) || !commandRules[type].changes
}
