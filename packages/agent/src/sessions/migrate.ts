/** `agent sessions migrate`: brings the schema of a database of sessions up to date. */
import { visible } from '@beige/client'
import { migratePostgres } from '@beige/sessions'
import { fail } from '../errors.ts'
import { agentOptions } from '../options.ts'
import type { ProcessWorld } from '../process-world.ts'
import type { PlaceOptions } from './place.ts'

export async function migrateCommand(raw: PlaceOptions, world: ProcessWorld): Promise<number> {
  const { store } = agentOptions(raw.store === undefined ? {} : { store: raw.store }, world)
  if (store.kind !== 'postgres') {
    const reason = `store ${store.kind} has no schema`
    throw fail('bad_value', {
      name: '--store',
      reason,
      expected: 'postgres://host/database (AI_AGENT_STORE)',
    })
  }
  const { from, to, applied } = await migratePostgres(store.url)
  const text =
    applied.length === 0
      ? `the schema is up to date (version ${to})`
      : `${applied.map(name => `applied ${name}`).join('\n')}\nthe schema has version ${to} now`
  world.stdout.write(`${raw.json === true ? JSON.stringify({ from, to, applied }) : visible(text)}\n`)
  return 0
}
