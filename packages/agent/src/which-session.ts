/** Which session a start means (agent-cli.md, "Which session"). */
import { type Clock, newSessionId, type Random, type SessionId } from '@beige/protocol'
import type { SessionStore } from '@beige/sessions'
import type { AgentOptions } from './options.ts'

export async function whichSession(
  options: Pick<AgentOptions, 'sessionId' | 'continue'>,
  cwd: string,
  store: SessionStore,
  outside: { clock: Clock; random: Random },
): Promise<SessionId> {
  if (options.sessionId) return options.sessionId
  if (options.continue) {
    const { rows } = await store.list({ cwd, limit: 1 })
    const [newest] = rows
    if (newest) return newest.id
  }
  return newSessionId(outside.clock, outside.random)
}
