/** Which endpoint serves a model's name: the routing order of design page "Agent command line". Pure once made. */
import { nearest } from '@beige/protocol'
import type { Api, Model } from '@earendil-works/pi-ai'
import {
  baseUrlEndpoint,
  configuredEndpoint,
  type Endpoint,
  type Environment,
  modelOf,
  rowEndpoint,
  variable,
} from './endpoint.ts'
import { fail } from './errors.ts'
import type { ProviderConfig, Timeouts } from './provider-config.ts'
import { PROVIDERS, type ProviderRow, providerRow, rowByPrefix } from './provider-table.ts'

export type Route = { endpoint: Endpoint; model: Model<Api> }

export type Routes = {
  /** Throws `no_route`, `not_offered`, `unknown_model`, `ambiguous_model`. */
  route(name: string): Route
  /** The route of a model that came out of `route`, by what it is called; null when nothing serves it. */
  routeOf(model: { provider: string; id: string }): Route | null
  endpoints: readonly Endpoint[]
}

export async function createRoutes(
  providers: Readonly<Record<string, ProviderConfig>>,
  env: Environment,
  timeouts: Timeouts,
): Promise<Routes> {
  const configured = await Promise.all(
    Object.entries(providers).map(([id, config]) => configuredEndpoint(id, config, env, timeouts)),
  )
  const isTaken = (id: string) => configured.some(endpoint => endpoint.id === id)
  const direct = withTimeouts(await baseUrlEndpoint(env), timeouts)
  const chosen = direct === null ? withTimeouts(await chosenEndpoint(env), timeouts) : null
  const rows: Endpoint[] = []
  for (const row of PROVIDERS) {
    const key = variable(env, row.variable)
    if (key === null || isTaken(row.id)) continue
    const endpoint = withTimeouts(await rowEndpoint(row, env, key), timeouts)
    if (endpoint !== null) rows.push(endpoint)
  }
  const found = [...configured, direct, chosen, ...rows].filter(endpoint => endpoint !== null)
  const endpoints = found.filter((endpoint, i) => found.findIndex(other => other.id === endpoint.id) === i)
  const byId = new Map(endpoints.map(endpoint => [endpoint.id, endpoint]))

  return {
    endpoints,
    routeOf({ provider, id }) {
      const endpoint = byId.get(provider)
      const model = endpoint === undefined ? null : modelOf(endpoint, id)
      return endpoint === undefined || model === null ? null : { endpoint, model }
    },
    route(name) {
      const asked = name.trim()
      const named = configured.find(endpoint => asked.startsWith(`${endpoint.id}/`))
      if (named !== undefined) return at(named, asked)
      const offered = amongConfigured(configured, asked)
      if (offered !== null) return offered
      const only = direct ?? chosen
      if (only !== null) return at(only, asked)
      const row = explicitRow(asked) ?? rowByPrefix(asked)
      const endpoint = row === undefined ? undefined : byId.get(row.id)
      if (endpoint !== undefined) return at(endpoint, asked)
      throw unreachable(asked, row, endpoints, env)
    },
  }
}

/** `AI_PROVIDER`: that row serves every id, with its own variable or `AI_API_KEY`. */
async function chosenEndpoint(env: Environment): Promise<Endpoint | null> {
  const id = variable(env, 'AI_PROVIDER')
  if (id === null) return null
  const row = providerRow(id)
  if (row === undefined) {
    const near = didYouMean(
      nearest(
        id,
        PROVIDERS.map(known => known.id),
      ),
    )
    throw fail('bad_provider', { provider: id, what: `AI_PROVIDER names no known provider${near}` })
  }
  const key = variable(env, row.variable) ?? variable(env, 'AI_API_KEY')
  return key === null ? null : rowEndpoint(row, env, key)
}

function withTimeouts(endpoint: Endpoint | null, timeouts: Timeouts): Endpoint | null {
  return endpoint === null ? null : { ...endpoint, timeouts }
}

/** `name` may begin with the endpoint's own name. */
function at(endpoint: Endpoint, name: string): Route {
  const own = `${endpoint.id}/`
  const id = name.startsWith(own) ? name.slice(own.length) : name
  // An aggregator's ids hold slashes too: `openrouter/auto` is one of its own.
  const model = endpoint.models.get(name.toLowerCase()) ?? modelOf(endpoint, id)
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

function explicitRow(name: string): ProviderRow | undefined {
  const slash = name.indexOf('/')
  return slash < 0 ? undefined : providerRow(name.slice(0, slash))
}

/** Says the one thing that would help. */
function unreachable(
  name: string,
  row: ProviderRow | undefined,
  endpoints: readonly Endpoint[],
  env: Environment,
): Error {
  if (row?.needs !== undefined)
    return fail('not_offered', { model: name, provider: row.name, needs: row.needs })
  const chosen = providerRow(variable(env, 'AI_PROVIDER') ?? '')
  const missing = chosen?.variable ?? row?.variable
  if (missing !== undefined && missing !== null) return fail('no_route', { model: name, variable: missing })
  const names = endpoints.flatMap(endpoint =>
    [...endpoint.models.values()].map(model => `${endpoint.id}/${model.id}`),
  )
  const ids = nearest(name, [...names, ...names.map(full => full.slice(full.indexOf('/') + 1))])
  if (ids.length > 0)
    return fail('unknown_model', {
      provider: endpoints.length === 1 ? (endpoints[0]?.name ?? '') : 'No provider with a key',
      model: name,
      near: didYouMean(ids),
    })
  const aggregator = endpoints.find(endpoint => providerRow(endpoint.id)?.prefixes.length === 0)
  return fail('no_route', {
    model: name,
    variable: aggregator === undefined ? 'AI_BASE_URL' : `AI_PROVIDER=${aggregator.id}`,
  })
}

function didYouMean(names: readonly string[]): string {
  return names.length === 0 ? '' : ` (did you mean ${names.map(name => `"${name}"`).join(', ')}?)`
}
