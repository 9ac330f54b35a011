/** `beige token create|list|revoke`: by the gateway where one runs, else in the file that it will read. */
import { fail } from '../errors.ts'
import { type ApiTokens, openApiTokens, PRESETS, SCOPES, type Scope } from '../tokens/api-tokens.ts'
import { byGateway, withHome } from './by-gateway.ts'
import { fieldOf } from './control-client.ts'
import { EXIT, type World } from './world.ts'

const DAY_MS = 86_400_000

export async function tokenCreate(
  world: World,
  options: { name: string; scopes: string; agent?: readonly string[]; days?: number },
): Promise<number> {
  const wanted = {
    name: options.name,
    scopes: scopesOf(options.scopes),
    agents: options.agent === undefined || options.agent.length === 0 ? null : [...options.agent],
    expiresAt: options.days === undefined ? null : Math.round(world.clock.now() + options.days * DAY_MS),
  }
  const token =
    (await byGateway(world, 'POST', '/api/tokens', wanted, value => fieldOf(value, 'token'))) ??
    withFile(world, tokens => tokens.create(wanted).token)
  world.stdout.write(`${String(token)}\n`)
  if (world.stderr.isTTY) world.stderr.write('It is shown once and kept as a hash only.\n')
  return EXIT.done
}

export async function tokenList(world: World): Promise<number> {
  const rows =
    (await byGateway(world, 'GET', '/api/tokens', undefined, value => fieldOf(value, 'tokens'))) ??
    withFile(world, tokens => tokens.list())
  for (const row of Array.isArray(rows) ? rows : []) {
    const text = (name: string) => JSON.stringify(fieldOf(row, name))
    world.stdout.write(
      `${String(fieldOf(row, 'id'))}  ${text('name')}  ${text('scopes')}  agents ${text('agents')}\n`,
    )
  }
  return EXIT.done
}

export async function tokenRevoke(world: World, id: string): Promise<number> {
  const isGone =
    (await byGateway(world, 'DELETE', `/api/tokens/${encodeURIComponent(id)}`, undefined, () => true)) ??
    withFile(world, tokens => tokens.revoke(id))
  if (!isGone) throw fail('usage', { reason: `there is no token ${id}` })
  world.stdout.write(`revoked ${id}\n`)
  return EXIT.done
}

function scopesOf(text: string): Scope[] {
  const preset = Object.hasOwn(PRESETS, text) ? PRESETS[text] : undefined
  if (preset !== undefined) return [...preset]
  return text.split(',').map(part => {
    const scope = SCOPES.find(known => known === part.trim())
    if (scope === undefined)
      throw fail('usage', {
        reason: `"${part}" is neither a scope (${SCOPES.join(', ')}) nor owner, client, read-only`,
      })
    return scope
  })
}

function withFile<T>(world: World, work: (tokens: ApiTokens) => T): T {
  return withHome(world, layout => work(openApiTokens(layout.tokens, world.clock, world.random)))
}
