/** Runs that a killed gateway left open go on: the newest sessions of an agent are looked at, once, after the start. */
import { type Clock, explain } from '@beige/protocol'
import { foldSession } from '@beige/sessions'
import type { Agent } from '../agents/agent.ts'
import type { GatewayLog } from '../home/gateway-log.ts'

const LOOKED_AT = 20 // sessions an agent; an older one goes on when somebody comes back to it
const RECENT_MS = 86_400_000

export async function takeOverRuns(agent: Agent, parts: { clock: Clock; log: GatewayLog }): Promise<void> {
  const { rows } = await agent.store.list({ limit: LOOKED_AT })
  for (const row of rows) {
    if (parts.clock.now() - row.updatedAt > RECENT_MS) return
    try {
      if (!foldSession(await agent.store.read(row.id)).openRun) continue
      parts.log.write('info', `agent ${agent.name}: session ${row.id} has a run that was cut off; it goes on`)
      await agent.host.session(row.id, null)
    } catch (error) {
      parts.log.write('warn', `agent ${agent.name}: session ${row.id}: ${explain(error)}`)
    }
  }
}
