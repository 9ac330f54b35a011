/** The `beige` command. The only file here that touches the real process. */
import { extname } from 'node:path'
import { oncePerPress, systemClock, systemRandom } from '@beige/protocol'
import type { World } from './cli/world.ts'
import { program } from './program.ts'

const SIGNALS: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP']

const world: World = {
  env: process.env,
  cwd: process.cwd(),
  pid: process.pid,
  stdout: process.stdout,
  stderr: process.stderr,
  clock: systemClock,
  random: systemRandom,
  nodeArgs: process.execArgv,
  entry: process.argv[1] ?? '',
  runner: new URL(`./plugin-runner-main${extname(import.meta.url)}`, import.meta.url),
  onSignal: listener => {
    const heard = oncePerPress(systemClock, listener)
    for (const name of SIGNALS) process.on(name, heard)
    return () => {
      for (const name of SIGNALS) process.off(name, heard)
    }
  },
  onUncaught: listener => {
    process.on('uncaughtException', listener)
    process.on('unhandledRejection', listener)
  },
  exit: code => process.exit(code),
}

// Whoever read our output may be gone, e.g. after a detached start; that is no reason to end.
process.stdout.on('error', () => undefined)
process.stderr.on('error', () => undefined)

process.exitCode = await program(process.argv.slice(2), world)
