/** What a configuration says about a provider, and the check that it can work. */
import { fail } from './errors.ts'
import { providerRow, WIRES, type WireApi } from './provider-table.ts'

export type ModelConfig = {
  id: string
  name?: string
  contextWindow: number
  maxTokens: number
  /** Default: text alone. */
  input?: readonly ('text' | 'image')[]
  reasoning?: boolean
  /** USD per million tokens; default 0. */
  cost?: { input?: number; output?: number; cacheRead?: number; cacheWrite?: number }
}

export type Timeouts = {
  /** Longest silence, keep-alive bytes counting as sound. */
  idleMs: number
  /** Longest wait for the first piece of an answer, whatever keep-alive bytes come. */
  firstTokenMs: number
}
export const DEFAULT_TIMEOUTS: Timeouts = { idleMs: 300_000, firstTokenMs: 600_000 }

/** `llm.providers.<name>`. A known name needs only what differs from its row; another needs `baseUrl` and `api`. */
export type ProviderConfig = {
  /** Without it the row's variable is used; an unknown name without one sends no key. */
  apiKey?: string
  /** `none`: no key is sent, whatever the environment holds. `oauth`: the stored login of that name. */
  auth?: 'apiKey' | 'oauth' | 'none'
  baseUrl?: string
  api?: WireApi
  headers?: Readonly<Record<string, string>>
  models?: readonly ModelConfig[]
  timeouts?: Partial<Timeouts>
  /** Requests at once, all its models together; -1 (default): no limit. */
  concurrency?: number
  /** Allows plain http to another machine. */
  insecure?: boolean
}

/** Throws `bad_provider` with the first thing that can not work. */
export function checkProvider(id: string, config: ProviderConfig): void {
  const row = providerRow(id)
  const bad = (what: string) => fail('bad_provider', { provider: id, what })
  if (!/^[a-z][a-z0-9-]{0,31}$/.test(id)) throw bad('a name has lower-case letters, digits and dashes only')
  if (config.baseUrl === undefined && !row?.baseUrl && !(config.auth === 'oauth' && row?.loginUrl))
    throw bad(row === undefined ? 'is not a known provider, so it needs baseUrl and api' : 'needs a baseUrl')
  if (config.api === undefined && row === undefined) throw bad(`needs api, one of ${WIRES.join(', ')}`)
  if (config.api !== undefined && !WIRES.includes(config.api))
    throw bad(`api "${config.api}" is not one of ${WIRES.join(', ')}`)
  if ((config.auth ?? 'apiKey') !== 'apiKey' && config.apiKey !== undefined)
    throw bad(`has an apiKey and auth: "${config.auth}"`)
  if (config.auth === 'oauth' && row?.loginUrl === undefined) throw bad('knows no login')
  if (config.baseUrl !== undefined) checkUrl(config.baseUrl, config.insecure === true, bad)
  checkModels(config.models ?? [], bad)
  const { concurrency } = config
  if (concurrency !== undefined && concurrency !== -1 && (!Number.isInteger(concurrency) || concurrency < 1))
    throw bad('concurrency must be -1 (no limit) or a whole number from 1')
  for (const [name, ms] of Object.entries(config.timeouts ?? {}))
    if (!Number.isInteger(ms) || ms < 1) throw bad(`timeouts.${name} must be a whole number of ms above 0`)
}

function checkUrl(text: string, insecure: boolean, bad: (what: string) => Error): void {
  const url = URL.parse(text)
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    throw bad(`baseUrl "${text}" is not an http or https URL`)
  if (url.username !== '' || url.password !== '' || url.search !== '')
    throw bad('baseUrl may not hold a password or a query: use apiKey or headers')
  if (url.protocol === 'http:' && !insecure && !isLoopback(url.hostname))
    throw bad(`baseUrl "${text}" would send the key in the clear: use https, or set insecure: true`)
}

export function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname)
}

function checkModels(models: readonly ModelConfig[], bad: (what: string) => Error): void {
  const ids = new Set<string>()
  for (const model of models) {
    if (model.id.trim() === '') throw bad('a model needs an id')
    if (ids.has(model.id.toLowerCase())) throw bad(`model "${model.id}" is listed twice`)
    ids.add(model.id.toLowerCase())
    for (const name of ['contextWindow', 'maxTokens'] as const)
      if (!Number.isInteger(model[name]) || model[name] < 1)
        throw bad(`model "${model.id}": ${name} must be a whole number above 0`)
  }
}
