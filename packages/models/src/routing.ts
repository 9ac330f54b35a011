/** Which endpoint serves a model's name: the way of `routing-order.ts`, led to a real URL and key. */
import { nearest } from '@beige/protocol'
import type { Api, Model } from '@earendil-works/pi-ai'
import {
  baseUrlEndpoint,
  type Credential,
  configuredEndpoint,
  describedBy,
  type Endpoint,
  fileEndpoint,
  gatewayEndpoint,
  loginEndpoint,
  modelOf,
  readyRows,
  rowEndpoint,
} from './endpoint.ts'
import { fail } from './errors.ts'
import { type ModelEntry, type ModelsFile, NO_MODELS_FILE } from './models-file.ts'
import type { ProviderConfig, Timeouts } from './provider-config.ts'
import { PROVIDERS, providerRow, rowByPrefix } from './provider-table.ts'
import { type Environment, gatewayOf, type RouteSources, variable, type Way, wayOf } from './routing-order.ts'
import type { SecretValues } from './secret-value.ts'

export type Route = { endpoint: Endpoint; model: Model<Api> }

export type Routes = {
  /** Throws `no_route`, `needs_login`, `unknown_model`, `ambiguous_model`. */
  route(name: string): Route
  /** The route of a model that came out of `route`, by what it is called; null when nothing serves it. */
  routeOf(model: { provider: string; id: string }): Route | null
  endpoints(): readonly Endpoint[]
}

export type RoutesParts = {
  providers: Readonly<Record<string, ProviderConfig>>
  env: Environment
  timeouts: Timeouts
  gateway?: RouteSources['gateway']
  /** Of stored logins, by the id of their row. `serves`: null where the whole catalogue is. */
  logins?: readonly { provider: string; credential: Credential; serves: readonly string[] | null }[]
  file?: ModelsFile
  secrets?: SecretValues
  /** Ids that no catalogue lists go to the provider whose they are by their prefix. */
  takesUnknownIds?: boolean
}

export async function createRoutes(parts: RoutesParts): Promise<Routes> {
  const { env, file = NO_MODELS_FILE } = parts
  checkChosen(env)
  const configured = await Promise.all(
    Object.entries(parts.providers).map(([id, config]) => configuredOf(id, config, parts)),
  )
  const gateway = gatewayOf({ env, gateway: parts.gateway ?? {}, logins: [], moved: new Set() })
  const timed = (endpoint: Endpoint): Endpoint => ({ ...endpoint, timeouts: parts.timeouts })
  const atGateway = gateway === null ? null : timed(await gatewayEndpoint(gateway.url, gateway.key))
  const fromFile = new Map<string, Endpoint>()
  for (const [id, entry] of gateway === null ? file.entries : []) {
    const { baseUrl } = entry
    if (baseUrl !== null)
      fromFile.set(id, timed(await fileEndpoint({ ...entry, baseUrl }, entryCredential(entry, parts), env)))
  }
  const moved = gateway === null ? await baseUrlEndpoint(env) : null
  const direct = moved && timed(moved)
  const leads = gateway === null ? await providersOf(parts) : []
  const ways = leads.map(({ source, endpoint }) => ({ source, endpoint: timed(endpoint) }))
  const sources: RouteSources = {
    env,
    ...(parts.gateway === undefined ? {} : { gateway: parts.gateway }),
    logins: ways.filter(way => way.source === 'login').map(({ endpoint }) => loginSource(endpoint)),
    moved: new Set(fromFile.keys()),
  }

  const all = [
    ...configured,
    atGateway,
    ...fromFile.values(),
    direct,
    ...ways.map(way => way.endpoint),
  ].filter(endpoint => endpoint !== null)
  const endpointOf = (id: string) => all.find(endpoint => endpoint.id === id) ?? null

  const described = ({ endpoint, model }: Route): Route => {
    const entry = file.entries.get(model.id.toLowerCase())
    if (entry === undefined || configured.some(one => one.id === endpoint.id)) return { endpoint, model }
    const withHeaders =
      entry.baseUrl === null && Object.keys(entry.headers).length > 0
        ? { ...endpoint, credential: withEntryHeaders(endpoint, entry, parts) }
        : endpoint
    return { endpoint: withHeaders, model: describedBy(model, entry) }
  }
  const led = (way: Way, asked: string): Route => {
    switch (way.source) {
      case 'gateway':
        return at(endpointOf('gateway'), way.id, way)
      case 'models.json':
        return at(fromFile.get(way.id.toLowerCase()) ?? null, way.id, way)
      case 'AI_BASE_URL':
        return at(direct, way.id, way)
      case 'AI_PROVIDER':
      case 'variable':
      case 'login': {
        const found = ways.find(one => one.endpoint.id === way.row.id && one.source === keptAs(way))
        const endpoint = found?.endpoint ?? endpointOf(way.row.id)
        const passes = parts.takesUnknownIds === true || way.row.id === 'bedrock'
        return at(endpoint && passes ? { ...endpoint, passesThrough: true } : endpoint, way.id, way, asked)
      }
      case 'none':
        throw unreachable(way, asked, all)
      default:
        return way satisfies never
    }
  }

  return {
    endpoints: () => all,
    routeOf({ provider, id }) {
      const moved = fromFile.get(id.toLowerCase())
      const endpoint = moved?.id === provider ? moved : endpointOf(provider)
      const passing =
        endpoint && parts.takesUnknownIds === true ? { ...endpoint, passesThrough: true } : endpoint
      const model = passing === null ? null : modelOf(passing, id)
      return passing === null || model === null ? null : described({ endpoint: passing, model })
    },
    route(name) {
      const asked = name.trim()
      const named = configured.find(endpoint => asked.startsWith(`${endpoint.id}/`))
      if (named !== undefined) return at(named, asked.slice(named.id.length + 1), null, asked)
      return amongConfigured(configured, asked) ?? described(led(wayOf(asked, sources), asked))
    },
  }
}

type Lead = { source: 'login' | 'key'; endpoint: Endpoint }

/** What providers can be asked, with a key or a login; a login is a way of its own beside its row's key. */
async function providersOf(parts: RoutesParts): Promise<Lead[]> {
  const { env } = parts
  const leads: (Lead | null)[] = []
  for (const { provider, credential, serves } of parts.logins ?? []) {
    const row = providerRow(provider)
    const endpoint = row === undefined ? null : await loginEndpoint(row, credential)
    const served = endpoint && serves ? onlyServed(endpoint, serves) : endpoint
    leads.push(served && { source: 'login', endpoint: served })
  }
  const chosen = providerRow(variable(env, 'AI_PROVIDER') ?? '')
  const ready = readyRows(env)
  if (chosen?.baseUrl && !ready.some(({ row }) => row === chosen) && variable(env, 'AI_API_KEY') !== null)
    ready.unshift({ row: chosen, keyVariable: 'AI_API_KEY' })
  for (const { row, keyVariable } of ready) {
    const endpoint = await rowEndpoint(row, env, keyVariable)
    leads.push(endpoint && { source: 'key', endpoint })
  }
  return leads.filter(lead => lead !== null)
}

const keptAs = (way: Way): Lead['source'] => (way.source === 'login' ? 'login' : 'key')

function onlyServed(endpoint: Endpoint, ids: readonly string[]): Endpoint {
  const served = new Set(ids.map(id => id.toLowerCase()))
  return { ...endpoint, models: new Map([...endpoint.models].filter(([id]) => served.has(id))) }
}

function loginSource({ id: provider, models }: Endpoint): RouteSources['logins'][number] {
  const row = providerRow(provider)
  // A vendor's plan takes what is its own, also what no catalogue lists yet.
  return { provider, serves: id => models.has(id) || (row !== undefined && rowByPrefix(id) === row) }
}

async function configuredOf(id: string, config: ProviderConfig, parts: RoutesParts): Promise<Endpoint> {
  const endpoint = await configuredEndpoint(id, config, parts.env, parts.timeouts)
  if (config.auth !== 'oauth') return endpoint
  const login = parts.logins?.find(({ provider }) => provider === id)
  if (login === undefined) throw fail('needs_login', { provider: id, what: 'nobody has logged in' })
  return { ...endpoint, keyIn: 'bearer', credential: login.credential }
}

/** The key and headers of an entry, read when they are used. */
function entryCredential(entry: ModelEntry, { secrets }: RoutesParts): Credential {
  return {
    open: async () => ({
      key: entry.apiKey === null ? null : await opened(secrets, entry.apiKey, entry.id),
      headers: await openedHeaders(secrets, entry),
    }),
  }
}

function withEntryHeaders(endpoint: Endpoint, entry: ModelEntry, { secrets }: RoutesParts): Credential {
  const { credential } = endpoint
  return {
    async open(signal) {
      const own = credential === undefined ? { key: endpoint.key } : await credential.open(signal)
      return { ...own, headers: { ...own.headers, ...(await openedHeaders(secrets, entry)) } }
    },
    ...(credential?.renew === undefined ? {} : { renew: credential.renew }),
  }
}

async function openedHeaders(secrets: SecretValues | undefined, entry: ModelEntry) {
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(entry.headers))
    headers[name] = await opened(secrets, value, entry.id)
  return headers
}

const opened = async (secrets: SecretValues | undefined, value: string, model: string): Promise<string> =>
  secrets === undefined ? value : secrets.open(value, model)

function checkChosen(env: Environment): void {
  const id = variable(env, 'AI_PROVIDER')
  if (id === null || providerRow(id) !== undefined) return
  const near = didYouMean(
    nearest(
      id,
      PROVIDERS.map(known => known.id),
    ),
  )
  throw fail('bad_provider', { provider: id, what: `AI_PROVIDER names no known provider${near}` })
}

/** `asked`: as it was written, which may be an id that begins with the endpoint's own name. */
function at(endpoint: Endpoint | null, id: string, way: Way | null, asked = id): Route {
  if (endpoint === null) throw fail('no_route', { model: asked, variable: way?.source ?? 'its key' })
  const model = endpoint.models.get(asked.toLowerCase()) ?? modelOf(endpoint, id)
  if (model !== null && id !== '') return { endpoint, model }
  const ids = [...endpoint.models.values()].map(known => known.id)
  throw fail('unknown_model', {
    provider: endpoint.name,
    model: id,
    near: didYouMean(nearest(id, ids)),
  })
}

/** An exact id of a configured provider; its vendor comes before others that offer it too. */
function amongConfigured(configured: readonly Endpoint[], name: string): Route | null {
  const offers = configured.flatMap(endpoint => {
    const model = endpoint.models.get(name.toLowerCase())
    return model === undefined ? [] : [{ endpoint, model }]
  })
  const vendor = rowByPrefix(name)?.id
  const own = offers.find(offer => offer.endpoint.id === vendor)
  if (own !== undefined) return own
  if (offers.length > 1)
    throw fail('ambiguous_model', {
      model: name,
      names: offers.map(offer => `${offer.endpoint.id}/${offer.model.id}`).join(', '),
    })
  return offers[0] ?? null
}

/** Says the one thing that would help. */
function unreachable(
  { row, help }: Way & { source: 'none' },
  id: string,
  endpoints: readonly Endpoint[],
): Error {
  if ('login' in help)
    return fail('needs_login', { provider: help.login, what: `nobody has logged in, which ${id} needs` })
  if (row === null) {
    const names = endpoints.flatMap(endpoint =>
      [...endpoint.models.values()].map(model => `${endpoint.id}/${model.id}`),
    )
    const ids = nearest(id, [...names, ...names.map(full => full.slice(full.indexOf('/') + 1))])
    if (ids.length > 0)
      return fail('unknown_model', {
        provider: endpoints.length === 1 ? (endpoints[0]?.name ?? '') : 'No provider with a key',
        model: id,
        near: didYouMean(ids),
      })
  }
  return fail('no_route', { model: id, variable: help.variable })
}

function didYouMean(names: readonly string[]): string {
  return names.length === 0 ? '' : ` (did you mean ${names.map(name => `"${name}"`).join(', ')}?)`
}
