/** `beige gateway restart`: the one that runs reads its configuration anew and starts again; starts it where none runs. */
import type { Layout } from '../home/layout.ts'
import { checkHealth } from '../lifecycle/health.ts'
import { askGateway, errorOf } from './control-client.ts'
import { startDetached } from './gateway-start.ts'
import { EXIT, homeOf, type World } from './world.ts'

const DEFAULT_TIMEOUT_S = 300
const LOOK_EVERY_MS = 100

export async function restartGateway(
  world: World,
  options: { config?: string; timeout?: number },
): Promise<number> {
  const layout = homeOf(world)
  const before = await askGateway(layout, 'GET', '/api/health')
  if (before === null) return startDetached(world, options)
  const answer = await askGateway(layout, 'POST', '/api/gateway/restart', {})
  if (answer?.status === 422) {
    world.stderr.write(`${errorOf(answer.value).message}\nnothing was restarted\n`)
    return EXIT.usage
  }
  if (answer?.status !== 202) {
    world.stderr.write(`${errorOf(answer?.value).message}\n`)
    return EXIT.failed
  }
  const askedAt = world.clock.monotonic()
  const timeoutS = options.timeout ?? DEFAULT_TIMEOUT_S
  for (;;) {
    const sinceMs = world.clock.monotonic() - askedAt
    if (timeoutS > 0 && sinceMs > timeoutS * 1000) break
    const address = await addressOfYounger(layout, sinceMs)
    if (address !== null) {
      world.stdout.write(`restarted, ready: ${address}\n`)
      return EXIT.done
    }
    await world.clock.sleep(LOOK_EVERY_MS)
  }
  world.stderr.write(`not ready after ${timeoutS} s; see: beige gateway status, ${layout.log}\n`)
  return EXIT.notReady
}

/** Null until one is ready that began after we asked. */
async function addressOfYounger(layout: Layout, sinceMs: number): Promise<string | null> {
  const answer = await askGateway(layout, 'GET', '/api/health').catch(() => null)
  if (!checkHealth.check(answer?.value)) return null
  const { ready, uptime_ms, address } = answer.value
  return ready && uptime_ms < sinceMs ? (address ?? '') : null
}
