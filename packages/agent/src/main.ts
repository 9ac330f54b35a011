/** The `agent` command. The only file here that touches the real process. */
import { oncePerPress, systemClock, systemRandom } from '@beige/protocol'
import type { ProcessWorld } from './process-world.ts'
import { program } from './program.ts'

const SIGNALS: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP']
const outputClosed = new Set<() => void>()

const world: ProcessWorld = {
  env: process.env,
  cwd: process.cwd(),
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  clock: systemClock,
  random: systemRandom,
  onSignal: listener => {
    const heard = oncePerPress(systemClock, listener)
    for (const name of SIGNALS) process.on(name, heard)
    return () => {
      for (const name of SIGNALS) process.off(name, heard)
    }
  },
  onOutputClosed: listener => {
    outputClosed.add(listener)
    return () => outputClosed.delete(listener)
  },
  exit: code => process.exit(code),
}

// A reader that has seen enough (`agent run … | head`) is no failure; what runs for it is ended first.
process.stdout.on('error', error => {
  if (!('code' in error && error.code === 'EPIPE')) throw error
  if (outputClosed.size === 0) process.exit(0)
  for (const listener of outputClosed) listener()
})
process.stderr.on('error', () => {}) // there is nobody to tell

process.exitCode = await program(process.argv.slice(2), world)
