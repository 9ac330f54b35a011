/**
 * The hands of one owner of a session. Each of its requests carries the session's epoch, so that the endpoint refuses a paused
 * owner once its successor has spoken. In which sandbox the session works is written down, so that its model can be told when
 * it is another one.
 */
import { type ExecClient, NO_INSTANCE } from '@beige/sandbox'
import { sandboxRecord } from './jobs/session-notes.ts'
import type { Session } from './session.ts'
import type { Hands } from './tool.ts'

/**
 * Asked before something of the session's sandbox is ended: false where another owner of the session has taken over, whose
 * sandbox it is now. A paused owner does not know that before it asks.
 */
export async function stillOwns(session: Session): Promise<boolean> {
  const { generation } = session.notes()
  if (generation === null) return true // there is no sandbox
  try {
    await session.append(sandboxRecord(generation))
    return true
  } catch {
    return !session.log.lost.aborted
  }
}

export function sessionHands(session: Session, hands: Hands): Hands {
  const fence = { scope: session.log.id, n: session.log.epoch }
  const fenced = new WeakMap<ExecClient, ExecClient>()
  let writing: Promise<unknown> = Promise.resolve()

  function mine(exec: ExecClient): ExecClient {
    const known = fenced.get(exec) ?? exec.fenced(fence)
    fenced.set(exec, known)
    return known
  }

  async function stamp(generation: string): Promise<void> {
    if (session.notes().generation === generation || generation === NO_INSTANCE) return
    await session.append(sandboxRecord(generation))
  }

  return {
    id: hands.id,
    async open(signal) {
      const opened = await hands.open(signal)
      // One after the other: calls that run at the same time write it once.
      const stamped = writing.then(() => stamp(opened.generation))
      writing = stamped.catch(() => {})
      await stamped
      return { ...opened, exec: mine(opened.exec) }
    },
  }
}
