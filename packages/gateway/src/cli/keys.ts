/** `beige keys create|list|revoke`: virtual keys, which a program uses instead of a provider's. */
import { arr, compile, obj } from '@earendil-works/pi-schema'
import { fail } from '../errors.ts'
import {
  type ListedKey,
  listedKey,
  type NewVirtualKey,
  openVirtualKeys,
  type VirtualKeys,
} from '../tokens/virtual-keys.ts'
import { byGateway, withHome } from './by-gateway.ts'
import { fieldOf } from './control-client.ts'
import { EXIT, type World } from './world.ts'

const DAY_MS = 86_400_000
const checkList = compile(obj({ keys: arr(listedKey) }, { open: true }))

export type KeyFlags = {
  label: string
  model: readonly string[]
  usdPerDay?: number
  usdPerMonth?: number
  usd?: number
  tokensPerDay?: number
  rpm?: number
  days?: number
}

export async function keysCreate(world: World, flags: KeyFlags): Promise<number> {
  const { usdPerDay, usdPerMonth, usd, tokensPerDay } = flags
  const budget = {
    ...(usdPerDay === undefined ? {} : { usdPerDay }),
    ...(usdPerMonth === undefined ? {} : { usdPerMonth }),
    ...(usd === undefined ? {} : { usd }),
    ...(tokensPerDay === undefined ? {} : { tokensPerDay }),
  }
  const wanted: NewVirtualKey = {
    label: flags.label,
    models: [...flags.model],
    budget: Object.keys(budget).length === 0 ? null : budget,
    rpm: flags.rpm ?? null,
    expiresAt: flags.days === undefined ? null : Math.round(world.clock.now() + flags.days * DAY_MS),
  }
  const key =
    (await byGateway(world, 'POST', '/api/keys', wanted, value => fieldOf(value, 'key'))) ??
    withFile(world, keys => keys.create(wanted).key)
  world.stdout.write(`${String(key)}\n`)
  if (world.stderr.isTTY) world.stderr.write('It is shown once. Give it to a program as its API key.\n')
  return EXIT.done
}

export async function keysList(world: World, options: { json?: boolean }): Promise<number> {
  const rows =
    (await byGateway(world, 'GET', '/api/keys', undefined, listOf)) ?? withFile(world, keys => keys.list())
  if (options.json) {
    world.stdout.write(`${JSON.stringify({ keys: rows })}\n`)
    return EXIT.done
  }
  for (const row of rows) world.stdout.write(`${lineOf(row, world.clock.now())}\n`)
  return EXIT.done
}

export async function keysRevoke(world: World, id: string): Promise<number> {
  const isGone =
    (await byGateway(world, 'DELETE', `/api/keys/${encodeURIComponent(id)}`, undefined, () => true)) ??
    withFile(world, keys => keys.revoke(id))
  if (!isGone) throw fail('usage', { reason: `there is no key ${id} that is alive` })
  world.stdout.write(`revoked ${id}\n`)
  return EXIT.done
}

function listOf(value: unknown): readonly ListedKey[] {
  return checkList.check(value) ? value.keys : []
}

function lineOf(row: ListedKey, now: number): string {
  const budget = Object.entries(row.budget ?? {}).map(([name, limit]) => `${name} ${limit}`)
  const state =
    row.revokedAt !== null
      ? 'revoked'
      : row.expiresAt === null
        ? 'no end'
        : row.expiresAt <= now
          ? 'expired'
          : `until ${new Date(row.expiresAt).toISOString().slice(0, 10)}`
  return [
    row.id,
    JSON.stringify(row.label),
    row.models.join(','),
    budget.length === 0 ? 'no budget' : budget.join(', '),
    row.rpm === null ? '' : `${row.rpm} a minute`,
    state,
  ]
    .filter(part => part !== '')
    .join('  ')
}

function withFile<T>(world: World, work: (keys: VirtualKeys) => T): T {
  return withHome(world, layout => work(openVirtualKeys(layout.keys, world.clock, world.random)))
}
