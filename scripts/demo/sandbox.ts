/** Finds a sandbox driver for the demo; as root it installs bubblewrap where nothing is there. */
import { chooseDriver, driverOptionsFrom, type SandboxDriver } from '@beige/sandbox'
import { StepFailed } from './checklist.ts'
import { said } from './command.ts'

const APT = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }

export async function demoDriver(signal: AbortSignal): Promise<SandboxDriver['name']> {
  const found = await anyDriver(signal)
  if (found !== null) return found
  const isRoot = process.geteuid?.() === 0
  if (!isRoot || (await said('sh', ['-c', 'command -v apt-get'])).code !== 0) throw nothing()
  await said('apt-get', ['update', '-qq'], { env: APT })
  const install = await said('apt-get', ['install', '-y', '-qq', '--no-install-recommends', 'bubblewrap'], {
    env: APT,
  })
  const installed = install.code === 0 ? await anyDriver(signal) : null
  if (installed === null) throw nothing(install.stderr)
  return installed
}

async function anyDriver(signal: AbortSignal): Promise<SandboxDriver['name'] | null> {
  return chooseDriver({ kind: 'auto' }, signal, driverOptionsFrom(process.env)).then(
    driver => driver.name,
    () => null,
  )
}

function nothing(more = ''): StepFailed {
  const reason = `no engine answers and bwrap is missing or does not work${more ? `: ${more.trim()}` : ''}`
  return new StepFailed('sandbox', reason, 'Install one: apt-get install bubblewrap')
}
