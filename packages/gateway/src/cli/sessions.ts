/** `beige sessions abort`: ends the run of a session whose client is gone, or which goes on since a restart. */
import { fail } from '../errors.ts'
import { askGateway, errorOf, fieldOf } from './control-client.ts'
import { EXIT, homeOf, type World } from './world.ts'

export async function abortSession(world: World, key: string): Promise<number> {
  const layout = homeOf(world)
  const answer = await askGateway(layout, 'POST', `/api/sessions/${encodeURIComponent(key)}/abort`, {})
  if (answer === null) throw fail('not_running', { home: layout.home })
  if (answer.status === 404) throw fail('unknown_session', { key })
  if (answer.status >= 300) throw fail('gateway_answer', errorOf(answer.value))
  const run = fieldOf(answer.value, 'aborted')
  world.stdout.write(typeof run === 'string' ? `stopped ${run}\n` : 'nothing was running\n')
  return EXIT.done
}
