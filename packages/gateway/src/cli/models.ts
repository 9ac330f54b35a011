/** `beige models`: which of them cool down, and why; `clear` forgets it, e.g. when an account has room again. */
import { fail } from '../errors.ts'
import { checkHealth } from '../lifecycle/health.ts'
import { byGateway } from './by-gateway.ts'
import { EXIT, homeOf, type World } from './world.ts'

export async function modelsHealth(world: World, options: { json?: boolean }): Promise<number> {
  const models = await byGateway(world, 'GET', '/api/health', undefined, value =>
    checkHealth.check(value) ? value.models : null,
  )
  if (models === null) throw fail('not_running', { home: homeOf(world).home })
  if (options.json) {
    world.stdout.write(`${JSON.stringify(models)}\n`)
    return EXIT.done
  }
  const cooling = Object.entries(models.cooling)
  for (const [name, { class: kind, until, reason }] of cooling)
    world.stdout.write(`${name}  ${kind}  until ${until}${reason === undefined ? '' : `  ${reason}`}\n`)
  for (const [name, { active, waiting, limit }] of Object.entries(models.queues))
    world.stdout.write(
      `provider ${name}  ${active} running, ${waiting} waiting${limit < 0 ? '' : `, at most ${limit} at once`}\n`,
    )
  if (cooling.length === 0) world.stdout.write('no model cools down\n')
  return EXIT.done
}

export async function modelsClear(world: World, name: string): Promise<number> {
  const slash = name.indexOf('/')
  if (slash < 1 || slash === name.length - 1)
    throw fail('usage', { reason: 'a model is provider/model, or provider/* for what all of them share' })
  const [provider, model] = [name.slice(0, slash), name.slice(slash + 1)].map(encodeURIComponent)
  const done = await byGateway(
    world,
    'DELETE',
    `/api/providers/${provider}/${model}/health`,
    undefined,
    () => true,
  )
  if (done === null) throw fail('not_running', { home: homeOf(world).home })
  world.stdout.write(`${name} may be asked again\n`)
  return EXIT.done
}
