/** `beige gateway start -F`: the gateway itself, in front, until it is asked to stop. */
import { closeSync, writeSync } from 'node:fs'
import { takeProviderVariables } from '@beige/models'
import { explain, isError } from '@beige/protocol'
import { driverOptionsFrom } from '@beige/sandbox'
import { createRedactor } from '../audit/redactor.ts'
import { knownModels } from '../config/known-models.ts'
import { loadConfig } from '../config/load.ts'
import type { GatewayConfig } from '../config/resolved.ts'
import { realSurroundings } from '../config/surroundings.ts'
import { createGatewayLog } from '../home/gateway-log.ts'
import { type Layout, prepareHome } from '../home/layout.ts'
import { takeLock } from '../home/lock.ts'
import { type StopOptions, startGateway } from '../lifecycle/gateway.ts'
import { codeFolders } from '../plugins/code-folders.ts'
import { explainSystem } from '../system-refusal.ts'
import { askGateway, fieldOf } from './control-client.ts'
import { loadOrSay } from './load.ts'
import { configFileOf, EXIT, homeOf, type World } from './world.ts'

export type RunOptions = {
  config?: string
  strict?: boolean
  /** Started by `gateway start`: descriptor that hears of the readiness, after which nobody reads our output. */
  readyFd?: number
}

export async function runGateway(world: World, options: RunOptions): Promise<number> {
  const layout = homeOf(world)
  try {
    prepareHome(layout)
  } catch (error) {
    if (!isError(error, 'home_unsafe')) throw error
    world.stderr.write(`${explain(error)}\n`)
    return EXIT.usage
  }
  let lock: Disposable
  try {
    lock = takeLock(layout.lock, () => '')
  } catch (error) {
    if (!isError(error, 'already_running')) throw error
    world.stdout.write(`${await runningText(layout)}\n`)
    return EXIT.done
  }
  using _held = lock
  // What a restart reads its configuration with: it is taken out of the process's environment below.
  const firstEnv = { ...world.env }
  let config = await loadOrSay(world, options.config, 'nothing was started')
  if (config === null) return EXIT.usage
  const crash: Crash = { heard: () => undefined }
  world.onUncaught(error => crash.heard(error))
  let isFirst = true
  for (;;) {
    const ended = await runOnce(world, options, { layout, config, firstEnv, isFirst, crash })
    if (typeof ended === 'number') return ended
    config = ended
    isFirst = false
  }
}

/** Hears of what nobody caught; whoever runs now listens. */
type Crash = { heard(error: unknown): void }
type Once = { layout: Layout; config: GatewayConfig; firstEnv: World['env']; isFirst: boolean; crash: Crash }

/** Until it is asked to stop: the exit code; or to restart: the configuration to start with, read and found good. */
async function runOnce(
  world: World,
  options: RunOptions,
  { layout, config, firstEnv, isFirst, crash }: Once,
): Promise<number | GatewayConfig> {
  // What is in the configuration is read; nothing else may take keys or settings out of the environment from here on.
  for (const name of config.secretVariables) delete world.env[name]
  takeProviderVariables(world.env)

  const isWatched = { value: isFirst || options.readyFd === undefined }
  const log = createGatewayLog({
    path: layout.log,
    settings: config.gateway.log,
    redact: createRedactor(config.secrets),
    clock: world.clock,
    also: line => {
      if (isWatched.value) world.stdout.write(`${line}\n`)
    },
  })
  const asked = Promise.withResolvers<StopOptions>()
  let isStopping = false
  let crashed = false
  let next: GatewayConfig | null = null
  const checkRestart = async (): Promise<readonly string[] | null> => {
    const loaded = await loadConfig(
      configFileOf(world, options.config),
      realSurroundings({ env: firstEnv, beigeHome: layout.home, models: knownModels }),
    )
    if (!loaded.ok) return loaded.lines
    next = loaded.config
    return null
  }
  const stop = (wanted: StopOptions) => {
    isStopping = true
    asked.resolve(wanted)
  }
  const forget = world.onSignal(signal => {
    if (signal === 'SIGHUP' && !isStopping) {
      checkRestart().then(
        problems => {
          if (problems === null) stop({ keepSandboxes: true, restart: true })
          else log.write('error', `restart refused, nothing was changed:\n${problems.join('\n')}`)
        },
        error => log.error('restart', error),
      )
      return
    }
    if (isStopping) world.exit(EXIT.failed) // a second signal ends it at once
    stop({ keepSandboxes: false })
  })
  // It does not limp on: what is in an unknown state ends, drained as far as it goes.
  crash.heard = error => {
    log.error('uncaught', error)
    crashed = true
    asked.resolve({ keepSandboxes: true })
  }

  try {
    log.write('info', `${isFirst ? 'starting' : 'restarting'}, home ${layout.home}, pid ${world.pid}`)
    const gateway = await startGateway({
      config,
      layout,
      clock: world.clock,
      random: world.random,
      drivers: driverOptionsFrom(world.env),
      plugins: { runner: world.runner, nodeArgs: world.nodeArgs, codeFolders: codeFolders(world.runner) },
      log,
      strict: options.strict ?? false,
      pid: world.pid,
      onStopAsked: stop,
      checkRestart,
    })
    world.stdout.write(`gateway ready: ${gateway.summary}, pid ${world.pid}\n`)
    if (options.readyFd !== undefined && isFirst) {
      writeSync(options.readyFd, 'ready\n')
      closeSync(options.readyFd)
      isWatched.value = false
    }
    const wanted = await asked.promise
    const { parked } = await gateway.stop(wanted)
    if (wanted.restart === true && next !== null && !crashed) return next
    // What was parked still runs in here, with nobody to write for: only the end of the process ends it.
    if (parked > 0) world.exit(crashed ? EXIT.crashed : EXIT.done)
    return crashed ? EXIT.crashed : EXIT.done
  } catch (error) {
    log.error('start', error)
    world.stderr.write(`${explainSystem(error)}\n`)
    return isError(error, 'config_invalid') ? EXIT.usage : EXIT.failed
  } finally {
    forget()
  }
}

async function runningText(layout: ReturnType<typeof homeOf>): Promise<string> {
  const answer = await askGateway(layout, 'GET', '/api/health').catch(() => null)
  const pid = fieldOf(answer?.value, 'pid')
  const version = fieldOf(answer?.value, 'version')
  return pid === undefined ? 'already running' : `already running (pid ${pid}, version ${version})`
}
