/** `beige gateway start -F`: the gateway itself, in front, until it is asked to stop. */
import { closeSync, writeSync } from 'node:fs'
import { takeProviderVariables } from '@beige/models'
import { explain, isError } from '@beige/protocol'
import { driverOptionsFrom } from '@beige/sandbox'
import { createRedactor } from '../audit/redactor.ts'
import { createGatewayLog } from '../home/gateway-log.ts'
import { prepareHome } from '../home/layout.ts'
import { takeLock } from '../home/lock.ts'
import { startGateway } from '../lifecycle/gateway.ts'
import { codeFolders } from '../plugins/code-folders.ts'
import { explainSystem } from '../system-refusal.ts'
import { askGateway, fieldOf } from './control-client.ts'
import { loadOrSay } from './load.ts'
import { EXIT, homeOf, type World } from './world.ts'

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
  const config = await loadOrSay(world, options.config, 'nothing was started')
  if (config === null) return EXIT.usage
  // What is in the configuration is read; nothing else may take keys or settings out of the environment from here on.
  for (const name of config.secretVariables) delete world.env[name]
  takeProviderVariables(world.env)

  const isWatched = { value: true }
  const log = createGatewayLog({
    path: layout.log,
    settings: config.gateway.log,
    redact: createRedactor(config.secrets),
    clock: world.clock,
    also: line => {
      if (isWatched.value) world.stdout.write(`${line}\n`)
    },
  })
  const asked = Promise.withResolvers<{ keepSandboxes: boolean }>()
  const forget = world.onSignal(() => {
    if (isStopping) world.exit(EXIT.failed) // a second signal ends it at once
    isStopping = true
    asked.resolve({ keepSandboxes: false })
  })
  let isStopping = false
  // It does not limp on: what is in an unknown state ends, drained as far as it goes.
  world.onUncaught(error => {
    log.error('uncaught', error)
    crashed = true
    asked.resolve({ keepSandboxes: true })
  })
  let crashed = false

  try {
    log.write('info', `starting, home ${layout.home}, pid ${world.pid}`)
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
      onStopAsked: stop => {
        isStopping = true
        asked.resolve(stop)
      },
    })
    world.stdout.write(`gateway ready: ${gateway.summary}, pid ${world.pid}\n`)
    if (options.readyFd !== undefined) {
      writeSync(options.readyFd, 'ready\n')
      closeSync(options.readyFd)
      isWatched.value = false
    }
    await gateway.stop(await asked.promise)
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
