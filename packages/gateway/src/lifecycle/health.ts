/** What `status` and `GET /api/health` tell. */

import type { Clock } from '@beige/protocol'
import { arr, bool, compile, int, nullable, obj, opt, type Static, str } from '@earendil-works/pi-schema'
import type { Agent } from '../agents/agent.ts'
import type { AuditLog } from '../audit/audit-log.ts'
import type { PluginSupervisor } from '../plugins/plugin-supervisor.ts'
import { VERSION } from '../version.ts'

const open = { open: true }
const health = obj(
  {
    version: str(),
    pid: int(),
    uptime_ms: int(),
    ready: bool(),
    address: nullable(str()),
    agents: arr(
      obj(
        {
          name: str(),
          model: str(),
          state: str(),
          place: opt(str()),
          reason: opt(str()),
          unsafe: arr(str()),
          sessions: int(),
          running: int(),
        },
        open,
      ),
    ),
    plugins: arr(obj({ name: str(), state: str(), reason: opt(str()) }, open)),
    audit: obj({ seq: int() }, open),
  },
  open,
)
export type Health = Static<typeof health>
export const checkHealth = compile(health)

export type HealthParts = {
  startedAt: number
  clock: Clock
  pid: number
  agents: ReadonlyMap<string, Agent>
  supervisors: readonly PluginSupervisor[]
  audit: AuditLog
  address: { host: string; port: number } | null
  notReady: string | null
}

/** Reasons may name paths of the host: they are for the operator's own socket. */
export function healthOf(parts: HealthParts, isOperator: boolean): Health {
  return {
    version: VERSION,
    pid: parts.pid,
    uptime_ms: Math.round(parts.clock.monotonic() - parts.startedAt),
    ready: parts.notReady === null,
    address: parts.address === null ? null : `${parts.address.host}:${parts.address.port}`,
    agents: [...parts.agents.values()].map(agent => agentHealth(agent, isOperator)),
    plugins: parts.supervisors.map(({ plugin, state }) => {
      const now = state()
      const reason = isOperator && now.state === 'failed' ? { reason: now.reason } : {}
      return { name: plugin.name, state: now.state, ...reason }
    }),
    audit: { seq: parts.audit.head.seq },
  }
}

function agentHealth(agent: Agent, isOperator: boolean): Health['agents'][number] {
  const { model, sandbox } = agent.config
  const now = agent.sandbox.state()
  const live = agent.host.live()
  return {
    name: agent.name,
    model: `${model.provider}/${model.model}`,
    state: now.state,
    ...(isOperator && now.state === 'ready' ? { place: `${now.place}, uid ${now.uid}` } : {}),
    ...(isOperator && now.state === 'unavailable' ? { reason: now.reason } : {}),
    // What makes the wall weaker is shown for ever, not only when it was chosen.
    unsafe: [
      ...(sandbox.driver === 'host' ? ['driver host: no isolation'] : []),
      ...(sandbox.network === 'open' ? ['network open'] : []),
    ],
    sessions: live.length,
    running: live.filter(session => session.run !== null).length,
  }
}
