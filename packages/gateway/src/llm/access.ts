/** Whom a caller may ask, by the name that it gives: a model, or an agent, which stands for its list with fallback. */
import type { ModelRouter, RouterScope } from '@beige/models'
import { isError } from '@beige/protocol'
import type { Api, Model } from '@earendil-works/pi-ai'
import { nameOf } from '../config/check-models.ts'
import type { AgentConfig } from '../config/resolved.ts'
import { fail } from '../errors.ts'
import { maySee, type Principal } from '../http/admission.ts'
import { scopeOfAgent } from '../lifecycle/model-router.ts'
import type { NewVirtualKey } from '../tokens/virtual-keys.ts'
import type { LlmRequest } from './llm-request.ts'

export type Access = {
  router: ModelRouter
  model: Model<Api>
  agent: string | null
  /** Where the caller says nothing. */
  reasoning: LlmRequest['reasoning']
}

export interface AccessRules {
  /** Throws `unknown_model`, `model_denied`, and what the router says of a name. */
  to(principal: Principal, name: string): Access
  /** A model for an agent's own use, as its sessions may. */
  forAgent(principal: Principal, agent: string, model: string): Access
  /** Throws what such a key could never do: unknown names, a budget in money for a model without a price. */
  check(key: NewVirtualKey): void
  /** Names that `to` takes: models and agents. */
  names(principal: Principal): readonly { id: string; owner: string; label: string }[]
}

export const EVERYTHING = '*'
const MAX_SCOPES = 10_000

export function createAccessRules(router: ModelRouter, agents: readonly AgentConfig[]): AccessRules {
  const scoped = new Map<string, ModelRouter>()
  const byName = new Map(agents.map(agent => [agent.name, agent]))

  /** Made once for each caller and agent; what a key or token may do does not change. */
  const routerOf = (principal: Principal, agent: AgentConfig | null): ModelRouter => {
    const id = `${principal.tokenId ?? ''}/${agent?.name ?? ''}`
    const found = scoped.get(id)
    if (found !== undefined) return found
    if (scoped.size >= MAX_SCOPES) scoped.clear()
    const made = (agent === null ? router : router.for(scopeOfAgent(agent))).for(
      scopeOf(principal, agent, byName),
    )
    scoped.set(id, made)
    return made
  }
  const mayUse = (principal: Principal, agent: AgentConfig): boolean =>
    maySee(principal, agent.name) && (principal.key === null || lists(principal.key.models, agent.name))

  const ofAgent = (principal: Principal, agent: AgentConfig, name: string): Access => {
    const own = routerOf(principal, agent)
    const model = own.resolve(name)
    const { thinkingLevel } = [agent.model, ...agent.fallbackModels].find(one => nameOf(one) === name) ?? {}
    return { router: own, model, agent: agent.name, reasoning: thinkingLevel }
  }

  return {
    to(principal, name) {
      const agent = byName.get(name)
      if (agent !== undefined && mayUse(principal, agent))
        return ofAgent(principal, agent, nameOf(agent.model))
      const allowed = modelsOf(principal, byName)
      // Looked at before the name: who may use nothing of it does not learn what there is.
      if (agent !== undefined || allowed?.length === 0) throw fail('model_denied', { model: name })
      const own = routerOf(principal, null)
      try {
        return { router: own, model: own.resolve(name), agent: null, reasoning: undefined }
      } catch (error) {
        // Whoever may use a few does not learn which others there are.
        throw allowed === null || isError(error, 'no_price')
          ? error
          : fail('model_denied', { model: name }, error)
      }
    },
    forAgent(principal, name, model) {
      const agent = byName.get(name)
      if (agent === undefined || !mayUse(principal, agent))
        throw fail('unknown_agent', { agent: name, hint: '' })
      return ofAgent(principal, agent, model)
    },
    check(wanted) {
      const key = { ...wanted, id: '', createdAt: 0 }
      const principal: Principal = { name: '', tokenId: null, scopes: new Set(), agents: null, key }
      for (const name of wanted.models) if (name !== EVERYTHING && !byName.has(name)) known(router, name)
      router.for(scopeOf(principal, null, byName))
      for (const name of wanted.models) {
        const agent = byName.get(name)
        if (agent !== undefined) router.for(scopeOfAgent(agent)).for(scopeOf(principal, agent, byName))
      }
    },
    names(principal) {
      const allowed = modelsOf(principal, byName)
      const models = router
        .models()
        .map(model => ({ id: `${model.provider}/${model.id}`, owner: model.provider, label: model.name }))
        .filter(({ id }) => allowed === null || allowed.includes(id))
      const named = agents
        .filter(agent => mayUse(principal, agent))
        .map(agent => ({ id: agent.name, owner: 'beige', label: `agent ${agent.name}` }))
      return [...named, ...models]
    },
  }
}

/** A router's words about a name are for those who set it up with variables. */
function known(router: ModelRouter, name: string): void {
  try {
    router.resolve(name)
  } catch (error) {
    throw fail('bad_request', { reason: `models: nothing is configured that is called "${name}"` }, error)
  }
}

function lists(models: readonly string[], name: string): boolean {
  return models.includes(name) || models.includes(EVERYTHING)
}

/** Models that a caller may name itself; null: all. */
function modelsOf(principal: Principal, agents: ReadonlyMap<string, AgentConfig>): readonly string[] | null {
  if (principal.key !== null)
    return principal.key.models.includes(EVERYTHING)
      ? null
      : principal.key.models.filter(name => !agents.has(name))
  if (principal.agents === null) return null
  return principal.agents.flatMap(name => agents.get(name)?.allowModels.map(nameOf) ?? [])
}

function scopeOf(
  principal: Principal,
  agent: AgentConfig | null,
  agents: ReadonlyMap<string, AgentConfig>,
): RouterScope {
  const allowed = agent === null ? modelsOf(principal, agents) : null
  const { key } = principal
  return {
    ...(allowed === null ? {} : { allowModels: allowed }),
    ...(key === null ? {} : { key: key.id }),
    ...(key === null || key.budget === null ? {} : { budgets: [{ per: 'key' as const, ...key.budget }] }),
  }
}
