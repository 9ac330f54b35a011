/** The one router of the gateway, out of its configuration: fallback, budgets, state in the home, each attempt audited. */
import { type AttemptReport, createModelRouter, type ModelRouter, type RouterScope } from '@beige/models'
import type { AuditBody, Clock, Random } from '@beige/protocol'
import type { AuditLog } from '../audit/audit-log.ts'
import type { Redactor } from '../audit/redactor.ts'
import { nameOf } from '../config/check-models.ts'
import type { AgentConfig, GatewayConfig } from '../config/resolved.ts'
import type { GatewayLog } from '../home/gateway-log.ts'
import type { Layout } from '../home/layout.ts'
import { VERSION } from '../version.ts'

export async function openModelRouter(parts: {
  config: GatewayConfig
  layout: Layout
  clock: Clock
  random: Random
  audit: AuditLog
  redact: Redactor
  log: GatewayLog
}): Promise<ModelRouter> {
  const { config, log, audit } = parts
  const { budget } = config.llm
  let attempts = 0
  return createModelRouter({
    providers: Object.fromEntries(
      config.providers.map(({ name, apiKey, ...provider }) => [
        name,
        { ...provider, ...(apiKey === null ? { auth: 'none' as const } : { apiKey }) },
      ]),
    ),
    env: {}, // a key is spelled out in the configuration or there is none
    clock: parts.clock,
    random: parts.random,
    userAgent: `beige-gateway/${VERSION}`,
    fallback: config.llm.fallback,
    scope: budget === null ? {} : { budgets: [{ per: 'all', ...budget }] },
    state: { directory: parts.layout.data },
    warn: text => log.write('warn', text),
    onAttempt: attempt => {
      const id = `llm-${parts.clock.now().toString(36)}-${(attempts++).toString(36)}`
      audit.append(attemptLine(id, attempt, parts.redact)).catch(error => log.error('audit', error))
      if (attempt.alarm !== null) log.write('error', parts.redact(`models: ${attempt.alarm}`))
    },
  })
}

/** Whom an agent's requests may ask, in which order, and what they may spend. */
export function scopeOfAgent(agent: AgentConfig): RouterScope {
  return {
    agent: agent.name,
    fallbackModels: agent.fallbackModels.map(choice => ({
      model: nameOf(choice),
      ...reasoningOf(choice.thinkingLevel),
    })),
    allowModels: [...new Set(agent.allowModels.map(nameOf))],
    ...(agent.budget === null ? {} : { budgets: [{ per: 'agent' as const, ...agent.budget }] }),
  }
}

export function reasoningOf(level: AgentConfig['model']['thinkingLevel']) {
  return level === undefined || level === 'off' ? {} : { reasoning: level }
}

const MAX_REASON_CHARS = 300

/** One line an attempt: who asked which model, how it ended, what it used. */
export function attemptLine(id: string, attempt: AttemptReport, redact: Redactor): AuditBody {
  const { scope, usage } = attempt
  const isRefused = attempt.class === 'budget'
  return {
    phase: 'end',
    id,
    agent: scope.agent ?? '',
    type: 'llm',
    session: attempt.sessionId,
    model: `${attempt.model.provider}/${attempt.model.id}`,
    decision: isRefused ? 'denied' : 'allowed',
    by: isRefused ? 'budget' : 'policy',
    ...(attempt.message === null ? {} : { reason: redact(attempt.message).slice(0, MAX_REASON_CHARS) }),
    outcome: attempt.class === 'done' ? 'done' : attempt.class === 'aborted' ? 'interrupted' : 'failed',
    durationMs: attempt.durationMs,
    ...(scope.key === undefined ? {} : { key: scope.key }),
    class: attempt.class,
    attempt: attempt.attempt,
    ...(attempt.status === null ? {} : { status: attempt.status }),
    ...(isRefused
      ? {}
      : {
          tokens: {
            input: usage.input,
            output: usage.output,
            cacheRead: usage.cacheRead,
            cacheWrite: usage.cacheWrite,
            ...(usage.reasoning === 0 ? {} : { reasoning: usage.reasoning }),
          },
          costUsd: usage.costNanoUsd / 1e9,
          ...(usage.isEstimated ? { estimated: true } : {}),
        }),
  }
}
