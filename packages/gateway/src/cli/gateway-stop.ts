/** `beige gateway stop` and `status`. */
import { explain, isError } from '@beige/protocol'
import { compile, int, obj } from '@earendil-works/pi-schema'
import { readJsonFile } from '../home/json-file.ts'
import type { Layout } from '../home/layout.ts'
import { takeLock } from '../home/lock.ts'
import { checkHealth, type Health } from '../lifecycle/health.ts'
import { askGateway, errorOf } from './control-client.ts'
import { EXIT, homeOf, type World } from './world.ts'

const DEFAULT_TIMEOUT_S = 30
const LOOK_EVERY_MS = 50

export async function stopGateway(
  world: World,
  options: { timeout?: number; keepSandboxes?: boolean },
): Promise<number> {
  const layout = homeOf(world)
  if (isGone(layout)) {
    world.stdout.write('not running\n')
    return EXIT.done
  }
  const answer = await askGateway(layout, 'POST', '/api/gateway/stop', {
    keepSandboxes: options.keepSandboxes ?? false,
  }).catch(() => null)
  if (answer !== null && answer.status !== 202) {
    world.stderr.write(`${errorOf(answer.value).message}\n`)
    return EXIT.failed
  }
  const timeoutS = options.timeout ?? DEFAULT_TIMEOUT_S
  if (await goneWithin(world, layout, timeoutS * 1000)) {
    world.stdout.write('stopped\n')
    return EXIT.done
  }
  const pid = readJsonFile(
    layout.info,
    compile(obj({ pid: int() }, { open: true })),
    null,
    world.clock.now(),
  )?.pid
  // Only while the lock is held: a process that has ended may have left its number to another one.
  if (pid === undefined || isGone(layout)) return EXIT.done
  process.kill(pid, 'SIGKILL')
  await goneWithin(world, layout, 5_000)
  world.stderr.write(`pid ${pid} did not end within ${timeoutS} s and was killed; see ${layout.log}\n`)
  return EXIT.failed
}

export async function gatewayStatus(world: World, options: { json?: boolean }): Promise<number> {
  const layout = homeOf(world)
  let value: unknown = null
  try {
    value = (await askGateway(layout, 'GET', '/api/health'))?.value ?? null
  } catch (error) {
    if (!isError(error)) throw error
    world.stderr.write(`${explain(error)}\n`)
  }
  if (!checkHealth.check(value)) {
    const isStarting = !isGone(layout)
    if (options.json) world.stdout.write(`${JSON.stringify({ running: isStarting, ready: false })}\n`)
    else world.stdout.write(isStarting ? 'starting\n' : 'not running\n')
    return isStarting ? EXIT.notReady : EXIT.notRunning
  }
  if (options.json) world.stdout.write(`${JSON.stringify({ running: true, ...value })}\n`)
  else world.stdout.write(statusText(value))
  return value.ready ? EXIT.done : EXIT.notReady
}

function statusText(health: Health): string {
  const lines = [
    `${health.ready ? 'ready' : 'not ready'}  ${health.address ?? ''}  pid ${health.pid}, version ${health.version}, up ${uptime(health.uptime_ms)}, audit record ${health.audit.seq}`,
  ]
  for (const agent of health.agents) {
    const mark = agent.state === 'ready' ? '✓' : '✗'
    const about = agent.place ?? agent.reason ?? ''
    const unsafe = agent.unsafe.length === 0 ? '' : `  UNSAFE: ${agent.unsafe.join(', ')}`
    lines.push(`${mark} agent ${agent.name}  ${agent.state}  ${agent.model}  ${about}${unsafe}`)
  }
  for (const plugin of health.plugins)
    lines.push(
      `${plugin.state === 'ready' ? '✓' : '✗'} plugin ${plugin.name}  ${plugin.state}${plugin.reason === undefined ? '' : `  ${plugin.reason}`}`,
    )
  for (const [name, one] of Object.entries(health.models.cooling))
    lines.push(
      `! model ${name} cools down until ${one.until}  ${one.class}${one.reason === undefined ? '' : `  ${one.reason}`}`,
    )
  for (const [name, one] of Object.entries(health.models.queues))
    if (one.waiting > 0)
      lines.push(
        `! provider ${name}  ${one.waiting} wait, ${one.active} of ${one.limit} run, the first since ${one.oldest_wait_ms} ms`,
      )
  if (health.models.usage_error !== null) lines.push(`✗ usage ledger  ${health.models.usage_error}`)
  return `${lines.join('\n')}\n`
}

function uptime(ms: number): string {
  const seconds = Math.floor(ms / 1000)
  if (seconds < 60) return `${seconds} s`
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`
}

/** The kernel's lock tells: whoever held it has ended. */
function isGone(layout: Layout): boolean {
  try {
    takeLock(layout.lock, () => '')[Symbol.dispose]()
    return true
  } catch (error) {
    if (isError(error, 'already_running')) return false
    return true // no home yet
  }
}

async function goneWithin(world: World, layout: Layout, ms: number): Promise<boolean> {
  const deadline = world.clock.monotonic() + ms
  while (!isGone(layout)) {
    if (world.clock.monotonic() > deadline) return false
    await world.clock.sleep(LOOK_EVERY_MS)
  }
  return true
}
