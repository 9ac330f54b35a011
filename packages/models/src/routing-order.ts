/**
 * Which way a model's name leads: the routing order of design page "Agent command line". Pure, so that it can be asked
 * again at every switch, resume and fallback; it reads nothing and loads nothing.
 */
import { PROVIDERS, type ProviderRow, providerRow, rowByPrefix, rowByUrl } from './provider-table.ts'

export type Environment = Readonly<Record<string, string | undefined>>

export type RouteSources = {
  env: Environment
  /** `--gateway-url` or the setting; the variables are read from `env`. */
  gateway?: { url?: string | undefined; key?: string | undefined }
  /** Stored logins that can be used, by the id of their row, with the models they serve. */
  logins: readonly LoginSource[]
  /** Ids in lower case that `models.json` gives a `base_url`. */
  moved: ReadonlySet<string>
}
export type LoginSource = { provider: string; serves(id: string): boolean }

/** What would help where nothing leads. */
export type Help = { variable: string } | { login: string }

export type Way =
  | { source: 'gateway'; id: string; url: string; key: string | null }
  /** `key`: in `models.json` itself. */
  | { source: 'models.json'; id: string }
  | { source: 'AI_BASE_URL'; id: string; row: ProviderRow | null }
  /** `variable`: where the key is; for Bedrock it may be `AWS_ACCESS_KEY_ID`. */
  | { source: 'AI_PROVIDER' | 'variable'; id: string; row: ProviderRow; variable: string }
  | { source: 'login'; id: string; row: ProviderRow }
  | { source: 'none'; id: string; row: ProviderRow | null; help: Help }

/** Where a virtual key is taken when nobody says where its gateway is. */
export const DEFAULT_GATEWAY = 'http://ai.internal'

/** Names that we give to endpoints of no row; a stored model may still carry one. */
const OUR_NAMES = ['gateway', 'custom']

export function wayOf(name: string, sources: RouteSources): Way {
  const { env, logins, moved } = sources
  const asked = withoutOurName(name.trim())
  const gateway = gatewayOf(sources)
  if (gateway !== null) return { source: 'gateway', id: asked, ...gateway }

  const named = explicitRow(asked)
  const bare = named === null ? asked : asked.slice(named.id.length + 1)
  for (const id of [asked, bare]) if (moved.has(id.toLowerCase())) return { source: 'models.json', id }

  const chosenName = variable(env, 'AI_PROVIDER')
  const chosen = chosenName === null ? null : (providerRow(chosenName) ?? null)
  const baseUrl = variable(env, 'AI_BASE_URL')
  if (baseUrl !== null) {
    const url = URL.parse(baseUrl)
    const row = (url === null ? undefined : rowByUrl(url)) ?? chosen
    return { source: 'AI_BASE_URL', id: withoutRow(asked, row), row }
  }
  if (chosen !== null) return ofRow(chosen, withoutRow(asked, chosen), 'AI_PROVIDER', sources)
  if (named !== null) return ofRow(named, bare, 'variable', sources)

  const row = rowByPrefix(asked) ?? null
  // Of several logins that of the model's own vendor comes first.
  const serving = logins.filter(login => login.serves(asked.toLowerCase()))
  const login = serving.find(({ provider }) => provider === row?.id) ?? serving[0]
  const loginRow = login === undefined ? undefined : providerRow(login.provider)
  if (loginRow !== undefined) return { source: 'login', id: asked, row: loginRow }
  if (row !== null) return ofRow(row, asked, 'variable', sources)
  return { source: 'none', id: asked, row: null, help: { variable: helpOfNobody(env) } }
}

/** The gateway that is configured, or null: then providers are asked directly. */
export function gatewayOf({ env, gateway }: RouteSources): { url: string; key: string | null } | null {
  if (isOn(variable(env, 'AI_DIRECT'))) return null
  const url = gateway?.url ?? variable(env, 'AI_GATEWAY_URL')
  const key = gateway?.key ?? variable(env, 'AI_AGENT_KEY')
  return url === null && key === null ? null : { url: url ?? DEFAULT_GATEWAY, key }
}

/** The variable that holds the row's key, and the one that is missing; exactly one of them is null. */
export function keyOfRow(
  row: ProviderRow,
  env: Environment,
): { variable: string; missing: null } | { variable: null; missing: string } {
  if (row.baseUrl === null) return { variable: null, missing: 'AI_BASE_URL' }
  const has = (name: string | null) => name !== null && variable(env, name) !== null
  const signs = row.id === 'bedrock' && has('AWS_ACCESS_KEY_ID') && has('AWS_SECRET_ACCESS_KEY')
  const found = has(row.variable) ? row.variable : signs ? 'AWS_ACCESS_KEY_ID' : null
  if (found === null) return { variable: null, missing: row.variable ?? 'AI_BASE_URL' }
  if (row.baseUrl.includes('$AWS_REGION') && regionOf(env) === null)
    return { variable: null, missing: 'AWS_REGION' }
  return { variable: found, missing: null }
}

export function regionOf(env: Environment): string | null {
  return variable(env, 'AWS_REGION') ?? variable(env, 'AWS_DEFAULT_REGION')
}

/** Null where it is not there or blank. */
export function variable(env: Environment, name: string | null): string | null {
  const value = name === null ? undefined : env[name]?.trim()
  return value === undefined || value === '' ? null : value
}

/** A row that was named, by `AI_PROVIDER` or before the id: its key, else its login. */
function ofRow(
  row: ProviderRow,
  id: string,
  source: 'AI_PROVIDER' | 'variable',
  { env, logins }: RouteSources,
): Way {
  const isNamed = source === 'AI_PROVIDER'
  const login = logins.some(({ provider }) => provider === row.id)
  // The order of the page: `AI_PROVIDER` asks for the row's key, everything else for a login first.
  if (!isNamed && login) return { source: 'login', id, row }
  const key = keyOfRow(row, env)
  if (key.variable !== null) return { source, id, row, variable: key.variable }
  const isKeyless = key.missing === row.variable && (row.id !== 'bedrock' || regionOf(env) !== null)
  if (isNamed && isKeyless && variable(env, 'AI_API_KEY') !== null)
    return { source, id, row, variable: 'AI_API_KEY' }
  if (login) return { source: 'login', id, row }
  const help =
    row.loginUrl !== undefined && row.variable === null ? { login: row.id } : { variable: key.missing }
  return { source: 'none', id, row, help }
}

function explicitRow(name: string): ProviderRow | null {
  const slash = name.indexOf('/')
  return slash < 0 ? null : (providerRow(name.slice(0, slash)) ?? null)
}

/** An aggregator's ids hold slashes too, so only the row's own name goes. */
function withoutRow(name: string, row: ProviderRow | null): string {
  return row !== null && name.startsWith(`${row.id}/`) ? name.slice(row.id.length + 1) : name
}

function withoutOurName(name: string): string {
  const own = OUR_NAMES.find(one => name.startsWith(`${one}/`))
  return own === undefined ? name : name.slice(own.length + 1)
}

/** An id of no vendor that we know: an aggregator at hand may serve it, else somebody's server. */
function helpOfNobody(env: Environment): string {
  const aggregator = PROVIDERS.find(
    row => row.prefixes.length === 0 && row.variable !== null && variable(env, row.variable) !== null,
  )
  return aggregator === undefined ? 'AI_BASE_URL' : `AI_PROVIDER=${aggregator.id}`
}

function isOn(value: string | null): boolean {
  return value === '1' || value?.toLowerCase() === 'true'
}
