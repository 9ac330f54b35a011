/** An endpoint is one place that requests can go to: a URL, a key, and the models it answers for. */
import type { Api, Model } from '@earendil-works/pi-ai'
import { fail } from './errors.ts'
import type { ModelEntry } from './models-file.ts'
import {
  checkProvider,
  DEFAULT_TIMEOUTS,
  type ModelConfig,
  type ProviderConfig,
  type Timeouts,
} from './provider-config.ts'
import {
  type KeyHeader,
  PROVIDERS,
  type ProviderRow,
  providerRow,
  rowByPrefix,
  rowByUrl,
  type WireApi,
} from './provider-table.ts'
import { type Environment, keyOfRow, regionOf, variable } from './routing-order.ts'

export type Endpoint = {
  /** Also the `provider` of its models. */
  id: string
  name: string
  baseUrl: string
  api: WireApi
  keyIn: KeyHeader
  key: string | null
  /** Where the key is known only when a request is made; `key` is null then. */
  credential?: Credential
  /** What the AWS library is told instead of the process environment; without a key it signs with these. */
  aws?: Readonly<Record<string, string>>
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

/** A key that a login, or a command in `models.json`, gives. */
export type Credential = {
  /** Throws `needs_login`, `bad_secret`. */
  open(signal: AbortSignal | undefined): Promise<Opened>
  /** After the vendor refused what `open` gave: true when there is another key now. Without it there never is. */
  renew?(signal: AbortSignal | undefined): Promise<boolean>
}
export type Opened = { key: string | null; headers?: Readonly<Record<string, string>>; baseUrl?: string }

/** What we assume of a model that nobody described; pi's own defaults for custom models. */
export const UNKNOWN_MODEL = { contextWindow: 128_000, maxTokens: 16_384 } as const
const NO_LIMIT = Number.POSITIVE_INFINITY

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
  const loginUrl = config.auth === 'oauth' ? (row?.loginUrl ?? null) : null
  const baseUrl = config.baseUrl ?? loginUrl ?? baseUrlOf(row, env)
  if (baseUrl === null)
    throw fail('bad_provider', { provider: id, what: 'needs a baseUrl with its region, or AWS_REGION' })
  const shape = {
    id,
    name: row?.name ?? id,
    baseUrl,
    api,
    keyIn: row !== undefined && config.api === undefined ? row.keyIn : keyHeaderOf(api),
    key: config.auth === undefined || config.auth === 'apiKey' ? keyIn(config, row, env) : null,
    ...awsOf(api, env, baseUrl),
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

function keyIn(config: ProviderConfig, row: ProviderRow | undefined, env: Environment): string | null {
  return config.apiKey ?? variable(env, row?.variable ?? null)
}

/** Of `AI_BASE_URL`: any id passes. A host of the table brings its row, else `AI_PROVIDER` may name one. */
export async function baseUrlEndpoint(env: Environment): Promise<Endpoint | null> {
  const text = variable(env, 'AI_BASE_URL')
  if (text === null) return null
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol))
    throw fail('bad_provider', { provider: 'AI_BASE_URL', what: `"${text}" is not an http or https URL` })
  const row = rowByUrl(url) ?? providerRow(variable(env, 'AI_PROVIDER') ?? '')
  return { ...(await placeOf(row, text, env)), key: variable(env, 'AI_API_KEY'), passesThrough: true }
}

/** Of a row whose key is at hand. `OPENAI_BASE_URL` moves the `openai` row alone, and then any id passes. */
export async function rowEndpoint(
  row: ProviderRow,
  env: Environment,
  keyVariable: string,
): Promise<Endpoint | null> {
  const moved = row.id === 'openai' ? variable(env, 'OPENAI_BASE_URL') : null
  const baseUrl = moved ?? baseUrlOf(row, env)
  if (baseUrl === null) return null
  // With an access key the library signs; there is no bearer then.
  const key = keyVariable === 'AWS_ACCESS_KEY_ID' ? null : variable(env, keyVariable)
  const isRegional = row.baseUrl !== baseUrl
  const place = await placeOf(row, baseUrl, env, moved === null && !isRegional ? null : baseUrl)
  return { ...place, key, passesThrough: moved !== null }
}

/** Of a stored login. Its token may move it to another host of the same provider. */
export async function loginEndpoint(row: ProviderRow, credential: Credential): Promise<Endpoint | null> {
  if (row.loginUrl === undefined) return null
  const place = await placeOf(row, row.loginUrl, {}, null)
  return { ...place, keyIn: 'bearer', key: null, credential, passesThrough: false }
}

/** Any id passes, on the wire of the vendor whose id it is, so that nothing of its answers is lost on the way. */
export async function gatewayEndpoint(url: string, key: string | null): Promise<Endpoint> {
  const root = url.replace(/\/+$/, '').replace(/\/v1$/, '')
  const parsed = URL.parse(root)
  if (parsed === null || !/^https?:$/.test(parsed.protocol))
    throw fail('bad_provider', { provider: 'gateway', what: `"${url}" is not an http or https URL` })
  const place = await placeOf(undefined, `${root}/v1`, {})
  const rows = PROVIDERS.filter(row => row.prefixes.length > 0 && row.id !== 'bedrock')
  const models = await Promise.all(
    rows.map(async row => {
      const known = await catalogueOf(row, `${root}/v1`, wireAtGateway(row))
      return known
        .filter(model => rowByPrefix(model.id) === row)
        .map(model => ({ ...model, provider: 'gateway' }))
    }),
  )
  return { ...place, id: 'gateway', name: 'the gateway', key, ...priced(models.flat()), passesThrough: true }
}

/** Of an entry of `models.json` that has a `base_url`. */
export async function fileEndpoint(
  entry: ModelEntry & { baseUrl: string },
  credential: Credential,
  env: Environment,
): Promise<Endpoint> {
  const url = URL.parse(entry.baseUrl)
  const row = url === null ? undefined : rowByUrl(url)
  const place = await placeOf(row, entry.baseUrl, env)
  const api = entry.wire ?? place.api
  const keyIn = row !== undefined && entry.wire === null ? row.keyIn : keyHeaderOf(api)
  const shape = { ...place, api, keyIn, key: null, credential, passesThrough: false }
  const known = place.models.get(entry.id.toLowerCase())
  const model = known?.api === api ? known : customModel(shape, { id: entry.id, ...UNKNOWN_MODEL })
  return { ...shape, models: byId([model]) }
}

/** What the file says about a model counts wherever it is asked. */
export function describedBy(model: Model<Api>, entry: ModelEntry): Model<Api> {
  const { contextWindow, maxOutput, reasoning, vision } = entry
  return {
    ...model,
    ...(contextWindow === null ? {} : { contextWindow }),
    ...(maxOutput === null ? {} : { maxTokens: maxOutput }),
    ...(reasoning === null ? {} : { reasoning }),
    ...(vision === null ? {} : { input: vision ? ['text', 'image'] : ['text'] }),
  }
}

/** `catalogueUrl`: null where the catalogue's own addresses are right. */
async function placeOf(
  row: ProviderRow | undefined,
  baseUrl: string,
  env: Environment,
  catalogueUrl: string | null = baseUrl,
): Promise<Omit<Endpoint, 'key' | 'passesThrough'>> {
  const api = row?.api ?? 'openai-completions'
  return {
    id: row?.id ?? 'custom',
    name: row?.name ?? baseUrl,
    baseUrl,
    api,
    keyIn: row?.keyIn ?? 'bearer',
    headers: row?.headers ?? {},
    timeouts: DEFAULT_TIMEOUTS,
    concurrency: NO_LIMIT,
    ...awsOf(api, env, baseUrl),
    ...priced(row === undefined ? [] : await catalogueOf(row, catalogueUrl, null)),
  }
}

/** Null where it takes a region that nobody named. */
function baseUrlOf(row: ProviderRow | undefined, env: Environment): string | null {
  const url = row?.baseUrl ?? null
  if (!url?.includes('$AWS_REGION')) return url
  const region = regionOf(env)
  return region === null ? null : url.replace('$AWS_REGION', region)
}

const AWS_REGION_IN_HOST = /^bedrock-runtime(?:-fips)?\.([a-z0-9-]+)\.amazonaws\.com/

function awsOf(api: WireApi, env: Environment, baseUrl: string): Pick<Endpoint, 'aws'> {
  if (api !== 'bedrock-converse-stream') return {}
  const inHost = AWS_REGION_IN_HOST.exec(URL.parse(baseUrl)?.hostname ?? '')?.[1]
  const aws: Record<string, string> = { AWS_REGION: inHost ?? regionOf(env) ?? 'us-east-1' }
  for (const name of ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_SESSION_TOKEN']) {
    const value = variable(env, name)
    if (value !== null) aws[name] = value
  }
  return { aws }
}

function wireAtGateway(row: ProviderRow): WireApi | null {
  return row.api === 'anthropic-messages' || row.id === 'openai' ? null : 'openai-completions'
}

/** A row's key is at hand: what `rowEndpoint` is called with. */
export function readyRows(env: Environment): { row: ProviderRow; keyVariable: string }[] {
  return PROVIDERS.flatMap(row => {
    const { variable: keyVariable } = keyOfRow(row, env)
    return keyVariable === null ? [] : [{ row, keyVariable }]
  })
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
