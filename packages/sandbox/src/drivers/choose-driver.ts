/** From what was asked for to a driver that works here. `auto` takes docker, else bubblewrap, and never the bare host. */
import { fail } from '../errors.ts'
import type { SandboxDriver } from '../sandbox.ts'
import { bubblewrapDriver } from './bubblewrap/index.ts'
import { dockerDriver } from './docker/index.ts'
import { hostDriver } from './host.ts'
import { remoteDriver } from './remote.ts'

export type NamedDriver =
  | { kind: 'docker' }
  | { kind: 'bubblewrap' }
  | { kind: 'host' }
  | { kind: 'remote'; url: string; headers?: Readonly<Record<string, string>>; workspace?: string }
export type DriverChoice = { kind: 'auto' } | NamedDriver

export type DriverOptions = {
  /** Absent: the one built beside this package. */
  execdPath?: string
  /** `unix:///path` of the engine; absent: `/var/run/docker.sock`. */
  dockerHost?: string
  /** Environment of commands on the `host` driver; absent: a plain PATH, the workspace as HOME. */
  hostEnv?: Readonly<Record<string, string>>
}

/** The driver by its name, whether it works here or not. */
export function openDriver(choice: NamedDriver, options: DriverOptions = {}): SandboxDriver {
  const { execdPath, dockerHost, hostEnv } = options
  const execd = execdPath === undefined ? {} : { execdPath }
  switch (choice.kind) {
    case 'docker':
      return dockerDriver({ ...execd, ...(dockerHost === undefined ? {} : { host: dockerHost }) })
    case 'bubblewrap':
      return bubblewrapDriver(execd)
    case 'host':
      return hostDriver({ ...execd, ...(hostEnv === undefined ? {} : { env: hostEnv }) })
    case 'remote':
      return remoteDriver(choice)
    default:
      throw fail('unknown_driver', { name: JSON.stringify(choice satisfies never) })
  }
}

/**
 * A driver that works here, or the error that says what to install.
 *
 * @example
 * const driver = await chooseDriver({ kind: 'auto' }, signal)
 */
export async function chooseDriver(
  choice: DriverChoice,
  signal: AbortSignal,
  options: DriverOptions = {},
): Promise<SandboxDriver> {
  if (choice.kind !== 'auto') {
    const driver = openDriver(choice, options)
    const fault = await driver.unavailable(signal)
    if (!fault) return driver
    if (choice.kind === 'bubblewrap') throw fail('no_bubblewrap', { reason: fault.reason })
    throw fail('driver_unavailable', fault)
  }
  const docker = openDriver({ kind: 'docker' }, options)
  const dockerFault = await docker.unavailable(signal)
  if (!dockerFault) return docker
  const bubblewrap = openDriver({ kind: 'bubblewrap' }, options)
  const bubblewrapFault = await bubblewrap.unavailable(signal)
  if (!bubblewrapFault) return bubblewrap
  throw fail('no_sandbox', { docker: dockerFault.reason, bubblewrap: bubblewrapFault.reason })
}

/** The options that a main program takes from its own environment; nothing below it reads one. */
export function driverOptionsFrom(env: Readonly<Record<string, string | undefined>>): DriverOptions {
  return {
    ...(env.BEIGE_EXECD ? { execdPath: env.BEIGE_EXECD } : {}),
    ...(env.DOCKER_HOST ? { dockerHost: env.DOCKER_HOST } : {}),
    hostEnv: { ...(env.PATH ? { PATH: env.PATH } : {}), ...(env.HOME ? { HOME: env.HOME } : {}) },
  }
}
