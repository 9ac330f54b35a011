/** What `status` and `GET /api/health` tell. */

import type { ModelRouter } from '@beige/models'
import type { Clock } from '@beige/protocol'
import { arr, bool, compile, int, map, nullable, obj, opt, type Static, str } from '@earendil-works/pi-schema'
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
    models: obj(
      {
        /** By provider; -1 for no limit. */
        queues: map(
          obj(
            {
              limit: int(),
              active: int(),
              waiting: int(),
              oldest_wait_ms: int(),
              oldest_held_ms: int(),
              stuck: bool(),
            },
            open,
          ),
        ),
        /** By `provider/model`, or `provider/*` for all of a provider's. */
        cooling: map(obj({ class: str(), until: str(), failures: int(), reason: opt(str()) }, open)),
        usage_error: nullable(str()),
      },
      open,
    ),
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
  router: ModelRouter
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
    models: modelsHealth(parts.router, parts.clock, isOperator),
    audit: { seq: parts.audit.head.seq },
  }
}

/** What a provider said when it failed may name an account: it is for the operator's own socket. */
function modelsHealth(router: ModelRouter, clock: Clock, isOperator: boolean): Health['models'] {
  const { limiters, models, ledgerError } = router.health()
  const cooling = [...models].flatMap(([name, one]) =>
    one.untilMs === null || one.untilMs <= clock.now() ? [] : [[name, one, one.untilMs] as const],
  )
  return {
    queues: Object.fromEntries(
      Object.entries(limiters).map(([provider, one]) => [
        provider,
        {
          limit: Number.isFinite(one.limit) ? one.limit : -1,
          active: one.active,
          waiting: one.waiting,
          oldest_wait_ms: Math.round(one.oldestWaitMs),
          oldest_held_ms: Math.round(one.oldestHeldMs),
          stuck: one.isStuck,
        },
      ]),
    ),
    cooling: Object.fromEntries(
      cooling.map(([name, one, untilMs]) => [
        name,
        {
          class: one.class,
          until: new Date(untilMs).toISOString(),
          failures: one.consecutiveFailures,
          ...(isOperator ? { reason: one.lastError.message } : {}),
        },
      ]),
    ),
    usage_error: ledgerError === null ? null : isOperator ? ledgerError : 'usage can not be written',
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
