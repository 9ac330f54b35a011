/** The `agent` command. The only file here that touches the real process. */
import { systemClock, systemRandom } from '@beige/protocol'
import type { ProcessWorld } from './process-world.ts'
import { program } from './program.ts'

const SIGNALS: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP']

const world: ProcessWorld = {
  env: process.env,
  cwd: process.cwd(),
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  clock: systemClock,
  random: systemRandom,
  onSignal: listener => {
    for (const name of SIGNALS) process.on(name, listener)
    return () => {
      for (const name of SIGNALS) process.off(name, listener)
    }
  },
  exit: code => process.exit(code),
}

// A reader that has seen enough (`agent run … | head`) is no failure.
process.stdout.on('error', error => {
  if ('code' in error && error.code === 'EPIPE') process.exit(0)
  throw error
})

process.exitCode = await program(process.argv.slice(2), world)
