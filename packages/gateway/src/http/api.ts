/** The routes of the HTTP API. */

import type { ModelRouter } from '@beige/models'
import { nearest } from '@beige/protocol'
import { arr, bool, compile, int, nullable, obj, oneOf, opt, str } from '@earendil-works/pi-schema'
import type { Agent } from '../agents/agent.ts'
import type { SessionKeys } from '../agents/session-keys.ts'
import { fail } from '../errors.ts'
import type { AccessRules } from '../llm/access.ts'
import { type ApiTokens, SCOPES } from '../tokens/api-tokens.ts'
import { newVirtualKey, type VirtualKeys } from '../tokens/virtual-keys.ts'
import { maySee, type Principal } from './admission.ts'
import { answerJson } from './answers.ts'
import { promptAgent } from './prompt.ts'
import type { Route } from './routes.ts'

export type ApiParts = {
  agents: ReadonlyMap<string, Agent>
  keys: SessionKeys
  tokens: ApiTokens
  virtualKeys: VirtualKeys
  router: Pick<ModelRouter, 'models' | 'clearHealth'>
  /** What `GET /api/usage` answers. */
  usage(): Promise<Record<string, unknown>>
  access: AccessRules
  /** What `GET /api/health` answers; `isOperator` adds reasons and paths. */
  health(isOperator: boolean): Record<string, unknown>
  /** Null while prompts are taken. */
  refusesPrompts(): string | null
  stop(options: { keepSandboxes: boolean; restart?: boolean }): void
  /** Lines of what is wrong with what a restart would start; null: nothing. */
  checkRestart(): Promise<readonly string[] | null>
  closeStreamsOf(tokenId: string): void
  /** Writes down what an administrator does, before it is done; a rejection means that it is not done. */
  audited(event: string, details: Record<string, unknown>): Promise<void>
}

const promptBody = compile(
  obj({
    message: str({ minLength: 1 }),
    sessionKey: opt(str()),
    stream: opt(bool()),
    idempotency_key: opt(str({ pattern: '^[A-Za-z0-9._:-]{1,128}$' })),
  }),
)
const stopBody = compile(obj({ keepSandboxes: opt(bool()) }))
const emptyBody = compile(obj({}))
const tokenBody = compile(
  obj({
    name: str({ minLength: 1, maxLength: 64 }),
    scopes: arr(oneOf(SCOPES), { minItems: 1 }),
    agents: nullable(arr(str())),
    expiresAt: nullable(int()),
  }),
)

const keyBody = compile(newVirtualKey)

export function apiRoutes(parts: ApiParts): Route[] {
  const isOperator = (principal: Principal) => principal.tokenId === null
  return [
    {
      method: 'GET',
      path: '/api/health',
      scope: 'read',
      handle: ({ response, principal }) => answerJson(response, 200, parts.health(isOperator(principal))),
    },
    {
      method: 'GET',
      path: '/api/agents',
      scope: 'read',
      handle: ({ response, principal }) => {
        const agents = [...parts.agents.values()].filter(agent => maySee(principal, agent.name)).map(shown)
        answerJson(response, 200, { agents })
      },
    },
    {
      method: 'POST',
      path: '/api/agents/:agent/prompt',
      scope: 'prompt',
      handle: async exchange => {
        const body = checked(promptBody, exchange.body)
        const agent = agentOf(parts, exchange.principal, exchange.params.agent ?? '')
        const stopping = parts.refusesPrompts()
        if (stopping !== null) throw fail('unavailable')
        await promptAgent({ agent, keys: parts.keys, body, exchange })
      },
    },
    {
      method: 'POST',
      path: '/api/sessions/:key/abort',
      scope: 'prompt',
      handle: async ({ response, principal, params, body }) => {
        checked(emptyBody, body)
        const found = parts.keys.find(params.key ?? '')
        const agent = found === null ? undefined : parts.agents.get(found.agent)
        if (!found || !agent || !maySee(principal, found.agent)) throw fail('not_found')
        const live = agent.host.live().find(session => session.id === found.id)
        const run = live?.run ?? null
        run?.abort(new DOMException(`aborted by ${principal.name}`, 'AbortError'))
        await run?.ended
        answerJson(response, 200, { aborted: run?.id ?? null })
      },
    },
    {
      method: 'POST',
      path: '/api/gateway/stop',
      scope: 'admin',
      handle: async ({ response, principal, body }) => {
        const { keepSandboxes } = checked(stopBody, body)
        await parts.audited('gateway.stop_asked', { by: principal.name })
        answerJson(response, 202, { stopping: true })
        parts.stop({ keepSandboxes: keepSandboxes ?? false })
      },
    },
    {
      method: 'POST',
      path: '/api/gateway/restart',
      scope: 'admin',
      handle: async ({ response, principal, body }) => {
        checked(emptyBody, body)
        const problems = await parts.checkRestart()
        if (problems !== null) {
          // Lines of the configuration may name files of the host.
          const shown = isOperator(principal)
            ? problems
            : [`${problems.length} errors; see beige config check`]
          throw fail('restart_refused', { lines: shown.join('\n') })
        }
        await parts.audited('gateway.restart_asked', { by: principal.name })
        answerJson(response, 202, { restarting: true })
        parts.stop({ keepSandboxes: true, restart: true })
      },
    },
    {
      method: 'GET',
      path: '/api/tokens',
      scope: 'admin',
      handle: ({ response }) => answerJson(response, 200, { tokens: parts.tokens.list() }),
    },
    {
      method: 'POST',
      path: '/api/tokens',
      scope: 'admin',
      handle: async ({ response, principal, body }) => {
        const wanted = checked(tokenBody, body)
        for (const name of wanted.agents ?? [])
          if (!parts.agents.has(name)) throw fail('unknown_agent', { agent: name, hint: '' })
        await parts.audited('token.create', { by: principal.name, ...wanted })
        const { token, row } = parts.tokens.create(wanted)
        answerJson(response, 201, { token, id: row.id })
      },
    },
    {
      method: 'DELETE',
      path: '/api/tokens/:id',
      scope: 'admin',
      handle: async ({ response, principal, params }) => {
        const id = params.id ?? ''
        if (!parts.tokens.list().some(token => token.id === id)) throw fail('not_found')
        await parts.audited('token.revoke', { by: principal.name, id })
        parts.tokens.revoke(id)
        parts.closeStreamsOf(id)
        answerJson(response, 200, { revoked: id })
      },
    },
    {
      method: 'DELETE',
      path: '/api/providers/:provider/:model/health',
      scope: 'admin',
      handle: async ({ response, principal, params }) => {
        const { provider = '', model = '' } = params
        const name = `${provider}/${model}`
        if (
          !parts.router.models().some(one => one.provider === provider && (one.id === model || model === '*'))
        )
          throw fail('not_found')
        await parts.audited('models.clear', { by: principal.name, model: name })
        await parts.router.clearHealth({ provider, id: model })
        answerJson(response, 200, { cleared: name })
      },
    },
    {
      method: 'GET',
      path: '/api/usage',
      scope: 'admin',
      handle: async ({ response }) => answerJson(response, 200, await parts.usage()),
    },
    {
      method: 'GET',
      path: '/api/keys',
      scope: 'admin',
      handle: ({ response }) => answerJson(response, 200, { keys: parts.virtualKeys.list() }),
    },
    {
      method: 'POST',
      path: '/api/keys',
      scope: 'admin',
      handle: async ({ response, principal, body }) => {
        const wanted = checked(keyBody, body)
        parts.access.check(wanted)
        await parts.audited('key.create', { by: principal.name, ...wanted })
        const { key, row } = parts.virtualKeys.create(wanted)
        answerJson(response, 201, { key, id: row.id })
      },
    },
    {
      method: 'DELETE',
      path: '/api/keys/:id',
      scope: 'admin',
      handle: async ({ response, principal, params }) => {
        const id = params.id ?? ''
        if (!parts.virtualKeys.list().some(key => key.id === id && key.revokedAt === null))
          throw fail('not_found')
        await parts.audited('key.revoke', { by: principal.name, id })
        parts.virtualKeys.revoke(id)
        parts.closeStreamsOf(id)
        answerJson(response, 200, { revoked: id })
      },
    },
  ]
}

/** Names, no host paths, no reasons. */
function shown(agent: Agent): Record<string, unknown> {
  const { model, tools } = agent.config
  return {
    name: agent.name,
    model: `${model.provider}/${model.model}`,
    tools,
    state: agent.sandbox.state().state,
    sessions: agent.host.live().length,
  }
}

function agentOf(parts: ApiParts, principal: Principal, name: string): Agent {
  const agent = parts.agents.get(name)
  if (agent && maySee(principal, name)) return agent
  const visible = [...parts.agents.keys()].filter(known => maySee(principal, known))
  const guess = nearest(name, visible, 1)[0]
  throw fail('unknown_agent', { agent: name, hint: guess === undefined ? '' : ` (did you mean "${guess}"?)` })
}

type Validator<T> = {
  check(value: unknown): value is T
  errors(value: unknown): readonly { path: string; message: string }[]
}

function checked<T>(validator: Validator<T>, body: unknown): T {
  if (validator.check(body)) return body
  const [first] = validator.errors(body)
  const where = first?.path === '' || first === undefined ? 'the body' : first.path
  throw fail('bad_request', { reason: `${where}: ${first?.message ?? 'not as expected'}` })
}
