/** Hands that write down in which sandbox a session works, so that its model can be told when it is another one. */
import type { Session } from '../session.ts'
import type { Hands } from '../tool.ts'
import { sandboxRecord } from './session-notes.ts'

const NO_INSTANCE = 'unknown' // of an endpoint that can not say whether it was started anew

export function stampedHands(session: Session, hands: Hands): Hands {
  let writing: Promise<unknown> = Promise.resolve()

  async function stamp(generation: string): Promise<void> {
    if (session.notes().generation === generation || generation === NO_INSTANCE) return
    await session.append(sandboxRecord(generation))
  }

  return {
    id: hands.id,
    async open(signal) {
      const opened = await hands.open(signal)
      // One after the other: calls that run at the same time write it once.
      const mine = writing.then(() => stamp(opened.generation))
      writing = mine.catch(() => {})
      await mine
      return opened
    },
  }
}
