/** One command a request, one frame as the answer. */
import { type Connection, connect, type Viewer } from '@beige/host'
import { type Clock, type Frame, type FrameOf, POST_ANSWER_MS, type SessionId } from '@beige/protocol'
import type { Principal } from './guard.ts'
import type { Serving } from './serving.ts'

const GOES_ON: readonly string[] = ['bash', 'compact'] // after a while their ack is the answer

export type Posted = { status: number; frame: Frame | null; runId: string | null }
type Answer = FrameOf<'ack'> | FrameOf<'response'>

/** Rejects where the session could not be opened. The command goes on, whatever becomes of its caller. */
export async function post(
  serving: Serving,
  command: Record<string, unknown>,
  { id, principal }: { id: SessionId; principal: Principal },
): Promise<Posted> {
  const { host, clock } = serving
  const answered = Promise.withResolvers<Posted>()
  let ack: FrameOf<'ack'> | null = null
  let connection: Connection | null = null

  const take = (frame: Answer): void => {
    if (frame.type === 'response') answered.resolve({ status: 200, frame, runId: runIdOf(ack) })
    else {
      ack = frame
      // The run of a repeated key may have ended: its response is right behind, and is the answer.
      if (frame.command === 'prompt')
        setImmediate(() => answered.resolve({ status: 202, frame, runId: runIdOf(frame) }))
    }
  }
  const viewer: Viewer = {
    origin: principal.origin,
    role: principal.role,
    send: frame => {
      if (frame.type !== 'ack' && frame.type !== 'response') return
      // What others caused is numbered and says so.
      const cause = frame.origin?.viewer
      if (cause === undefined || cause === connection?.attachmentId) take(frame)
    },
  }
  connection = await connect({ host, viewer, id, fresh: serving.fresh(), ask: null })
  void connection.handle(command)
  try {
    return await Promise.race([answered.promise, late(clock, answered.promise, () => ack)])
  } finally {
    connection.close()
  }
}

async function late(
  clock: Clock,
  answered: Promise<unknown>,
  ack: () => FrameOf<'ack'> | null,
): Promise<Posted> {
  const over = new AbortController()
  answered.then(() => over.abort())
  await clock.sleep(POST_ANSWER_MS, over.signal).catch(() => {})
  const frame = ack()
  if (frame && GOES_ON.includes(frame.command)) return { status: 202, frame, runId: runIdOf(frame) }
  return { status: 504, frame: null, runId: null }
}

const runIdOf = (ack: FrameOf<'ack'> | null) => ack?.run_id ?? null
