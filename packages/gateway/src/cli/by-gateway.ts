/** For commands on files that the gateway owns: by the gateway where one runs, else by the file that it will read. */
import { fail } from '../errors.ts'
import { type Layout, prepareHome } from '../home/layout.ts'
import { takeLock } from '../home/lock.ts'
import { askGateway, errorOf } from './control-client.ts'
import { homeOf, type World } from './world.ts'

/** Null where no gateway runs. Throws what it answers instead. */
export async function byGateway<T>(
  world: World,
  method: 'GET' | 'POST' | 'DELETE',
  path: string,
  body: unknown,
  take: (value: unknown) => T,
): Promise<T | null> {
  const answer = await askGateway(homeOf(world), method, path, body)
  if (answer === null) return null
  if (answer.status >= 300) throw fail('gateway_answer', errorOf(answer.value))
  return take(answer.value)
}

/** Works on the home while nobody else does. */
export function withHome<T>(world: World, work: (layout: Layout) => T): T {
  const layout = homeOf(world)
  prepareHome(layout)
  using _lock = takeLock(layout.lock, () => ', but does not answer on its control socket')
  return work(layout)
}
