/** An endpoint is one place that requests can go to: a URL, a key, and the models it answers for. */
import type { Api, Model } from '@earendil-works/pi-ai'
import { fail } from './errors.ts'
import {
  checkProvider,
  DEFAULT_TIMEOUTS,
  type ModelConfig,
  type ProviderConfig,
  type Timeouts,
} from './provider-config.ts'
import { type KeyHeader, type ProviderRow, providerRow, rowByUrl, type WireApi } from './provider-table.ts'

export type Endpoint = {
  /** Also the `provider` of its models. */
  id: string
  name: string
  baseUrl: string
  api: WireApi
  keyIn: KeyHeader
  key: string | null
  headers: Readonly<Record<string, string>>
  timeouts: Timeouts
  /** By lower-case id. */
  models: ReadonlyMap<string, Model<Api>>
  /** Requests at once; Infinity: no limit. */
  concurrency: number
  /** Ids in lower case whose price is known, be it 0. */
  priced: ReadonlySet<string>
  /** Takes ids that it does not list. */
  passesThrough: boolean
}

export type Environment = Readonly<Record<string, string | undefined>>

/** What we assume of a model that nobody described; pi's own defaults for custom models. */
export const UNKNOWN_MODEL = { contextWindow: 128_000, maxTokens: 16_384 } as const

/** Of one provider in the configuration. */
export async function configuredEndpoint(
  id: string,
  config: ProviderConfig,
  env: Environment,
  timeouts: Timeouts,
): Promise<Endpoint> {
  checkProvider(id, config)
  const row = providerRow(id)
  const api = config.api ?? row?.api ?? 'openai-completions'
  const shape = {
    id,
    name: row?.name ?? id,
    baseUrl: config.baseUrl ?? row?.baseUrl ?? '',
    api,
    keyIn: row !== undefined && config.api === undefined ? row.keyIn : keyHeaderOf(api),
    key: config.auth === 'none' ? null : (config.apiKey ?? variable(env, row?.variable ?? null)),
    headers: { ...row?.headers, ...config.headers },
    timeouts: { ...timeouts, ...config.timeouts },
    concurrency: (config.concurrency ?? -1) === -1 ? Number.POSITIVE_INFINITY : (config.concurrency ?? -1),
    passesThrough: false,
  }
  const known = row === undefined ? [] : await catalogueOf(row, config.baseUrl ?? null, config.api ?? null)
  const own = (config.models ?? []).map(model => {
    const cost = known.find(one => one.id.toLowerCase() === model.id.toLowerCase())?.cost
    return customModel(shape, { ...model, cost: { ...cost, ...model.cost } })
  })
  const stated = (config.models ?? []).filter(model => model.cost !== undefined).map(model => model.id)
  const models = byId([...known, ...own])
  return { ...shape, models, priced: pricedIds([...models.values()], stated) }
}

/** Of `AI_BASE_URL`: any id passes. A host of the table brings its row, else `AI_PROVIDER` may name one. */
export async function baseUrlEndpoint(env: Environment): Promise<Endpoint | null> {
  const text = variable(env, 'AI_BASE_URL')
  if (text === null) return null
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol))
    throw fail('bad_provider', { provider: 'AI_BASE_URL', what: `"${text}" is not an http or https URL` })
  const row = rowByUrl(url) ?? providerRow(variable(env, 'AI_PROVIDER') ?? '')
  return {
    id: row?.id ?? 'custom',
    name: row?.name ?? text,
    baseUrl: text,
    api: row?.api ?? 'openai-completions',
    keyIn: row?.keyIn ?? 'bearer',
    key: variable(env, 'AI_API_KEY'),
    headers: row?.headers ?? {},
    timeouts: DEFAULT_TIMEOUTS,
    concurrency: Number.POSITIVE_INFINITY,
    ...priced(row === undefined ? [] : await catalogueOf(row, text, null)),
    passesThrough: true,
  }
}

/** Of a row whose variable is set. `OPENAI_BASE_URL` moves the `openai` row alone, and then any id passes. */
export async function rowEndpoint(row: ProviderRow, env: Environment, key: string): Promise<Endpoint | null> {
  if (row.baseUrl === null) return null
  const moved = row.id === 'openai' ? variable(env, 'OPENAI_BASE_URL') : null
  return {
    id: row.id,
    name: row.name,
    baseUrl: moved ?? row.baseUrl,
    api: row.api,
    keyIn: row.keyIn,
    key,
    headers: row.headers ?? {},
    timeouts: DEFAULT_TIMEOUTS,
    concurrency: Number.POSITIVE_INFINITY,
    ...priced(await catalogueOf(row, moved, null)),
    passesThrough: moved !== null,
  }
}

export function variable(env: Environment, name: string | null): string | null {
  const value = name === null ? undefined : env[name]?.trim()
  return value === undefined || value === '' ? null : value
}

/** The model of this endpoint with that id, in any case; made up where the endpoint takes any id. */
export function modelOf(endpoint: Endpoint, id: string): Model<Api> | null {
  const known = endpoint.models.get(id.toLowerCase())
  if (known !== undefined) return known
  return endpoint.passesThrough ? customModel(endpoint, { id, ...UNKNOWN_MODEL }) : null
}

async function catalogueOf(
  row: ProviderRow,
  baseUrl: string | null,
  api: WireApi | null,
): Promise<Model<Api>[]> {
  const models = (await row.catalogue?.()) ?? []
  return models.map(model => {
    const wire = api ?? model.api
    // What the catalogue says about quirks is about its own wire.
    const { compat, ...plain } = model
    return {
      ...plain,
      provider: row.id,
      api: wire,
      ...(compat === undefined || wire !== model.api ? {} : { compat }),
      ...(baseUrl === null ? {} : { baseUrl: urlForWire(wire, baseUrl) }),
    }
  })
}

function priced(models: readonly Model<Api>[]): Pick<Endpoint, 'models' | 'priced'> {
  return { models: byId(models), priced: pricedIds(models, []) }
}

/** A catalogue's price of 0 is one that nobody knows, unless the configuration says it. */
function pricedIds(models: readonly Model<Api>[], stated: readonly string[]): Set<string> {
  const known = models.filter(({ cost }) => cost.input > 0 || cost.output > 0).map(model => model.id)
  return new Set([...known, ...stated].map(id => id.toLowerCase()))
}

function customModel(endpoint: Omit<Endpoint, 'models' | 'priced'>, config: ModelConfig): Model<Api> {
  return {
    id: config.id,
    name: config.name ?? config.id,
    api: endpoint.api,
    provider: endpoint.id,
    baseUrl: urlForWire(endpoint.api, endpoint.baseUrl),
    reasoning: config.reasoning ?? false,
    input: [...(config.input ?? ['text'])],
    cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, ...config.cost },
    contextWindow: config.contextWindow,
    maxTokens: config.maxTokens,
  }
}

// The library for Anthropic's and Mistral's wire adds `/v1` itself, the others want it in the base URL.
function urlForWire(api: Api, baseUrl: string): string {
  const url = baseUrl.replace(/\/+$/, '')
  return api === 'anthropic-messages' || api === 'mistral-conversations' ? url.replace(/\/v1$/, '') : url
}

function keyHeaderOf(api: WireApi): KeyHeader {
  if (api === 'anthropic-messages') return 'x-api-key'
  return api === 'google-generative-ai' ? 'x-goog-api-key' : 'bearer'
}

function byId(models: readonly Model<Api>[]): Map<string, Model<Api>> {
  return new Map(models.map(model => [model.id.toLowerCase(), model]))
}
