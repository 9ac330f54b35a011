/** The end of a session's sandbox: background jobs end with one that is ours, and go on in one that is somebody else's. */

import { visible } from '@beige/client'
import { type NumberedJob, recordLostJobs, runningJobs, type Session, stillOwns } from '@beige/harness'
import { isError } from '@beige/protocol'
import type { AgentHands } from './hands.ts'
import type { AgentOptions } from './options.ts'

/** Says of each job that still ran what became of it. */
export async function endWithJobs(
  session: Session,
  hands: AgentHands,
  { sandbox }: Pick<AgentOptions, 'sandbox'>,
  say: (line: string) => void,
): Promise<void> {
  if (!(await stillOwns(session))) return await hands.detach()
  try {
    await hands.close()
  } catch (error) {
    if (!isError(error, 'taken_over')) throw error
    return await hands.detach()
  }
  if (sandbox.kind === 'remote') {
    for (const job of runningJobs(session.notes())) say(`${named(job)} still runs at ${sandbox.url}`)
    return
  }
  const jobs = runningJobs(session.notes())
  // Where that can not be written any more, the next owner sees that their sandbox is gone.
  await recordLostJobs(session).catch(() => {})
  for (const job of jobs) say(`${named(job)} has ended with its sandbox`)
}

const named = ({ number, command }: NumberedJob) => `job ${number} (${visible(command)})`
