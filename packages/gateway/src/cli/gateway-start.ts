/** `beige gateway start`: a process of its own whose log is shown until it is ready. */
import { spawn } from 'node:child_process'
import { EXIT, type World } from './world.ts'

const DEFAULT_TIMEOUT_S = 300
const READY_DESCRIPTOR = 3

export type StartOptions = { config?: string; strict?: boolean; timeout?: number }

export async function startDetached(world: World, options: StartOptions): Promise<number> {
  const args = [
    ...world.nodeArgs,
    world.entry,
    'gateway',
    'start',
    '--foreground',
    '--ready-fd',
    String(READY_DESCRIPTOR),
    ...(options.config === undefined ? [] : ['--config', options.config]),
    ...(options.strict ? ['--strict'] : []),
  ]
  const child = spawn(process.execPath, args, {
    cwd: world.cwd,
    env: world.env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
  })
  child.stdout?.on('data', chunk => world.stdout.write(chunk))
  child.stderr?.on('data', chunk => world.stderr.write(chunk))
  const ended = new Promise<number>(resolve => {
    child.once('error', () => resolve(EXIT.failed))
    child.once('close', code => resolve(code ?? EXIT.failed))
  })
  const ready = new Promise<'ready'>(resolve =>
    child.stdio[READY_DESCRIPTOR]?.once('data', () => resolve('ready')),
  )
  const timeoutS = options.timeout ?? DEFAULT_TIMEOUT_S
  const timer = new AbortController()
  const late =
    timeoutS === 0
      ? new Promise<never>(() => undefined)
      : world.clock.sleep(timeoutS * 1000, timer.signal).then(
          () => 'late' as const,
          () => 'late' as const,
        )
  const outcome = await Promise.race([ready, ended, late])
  timer.abort()
  if (outcome === 'late') {
    world.stderr.write(`not ready after ${timeoutS} s; it goes on starting, see: beige gateway status\n`)
    release(child)
    return EXIT.notReady
  }
  if (outcome === 'ready') {
    release(child)
    return EXIT.done
  }
  return outcome
}

/** From here on it lives by itself. */
function release(child: ReturnType<typeof spawn>): void {
  for (const stream of child.stdio) stream?.destroy()
  child.unref()
}
