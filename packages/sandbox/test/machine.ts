/** What this machine can run sandboxes with, and one in a folder of its own for a test. Absent drivers are skipped by name. */
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { messageOf } from '@beige/protocol'
import {
  DEFAULT_LIMITS,
  type DriverName,
  type ExecClient,
  findExecd,
  openDriver,
  type Sandbox,
  type SandboxDriver,
  type SandboxSpec,
} from '../src/index.ts'

export const TEST_MS = 60_000
export const LOCAL_DRIVERS = ['docker', 'bubblewrap', 'host'] as const
export type LocalDriver = (typeof LOCAL_DRIVERS)[number]

/** Why there is no execd to run; null when it is built. */
export function execdAbsence(): string | null {
  try {
    findExecd()
    return null
  } catch (error) {
    return `absent: execd (${messageOf(error)})`
  }
}

/** Why `program --flag` can not be run here; null when it can. */
export function programAbsence(engine: string, program: string, flag: string): string | null {
  const { error } = spawnSync(program, [flag], { stdio: 'ignore' })
  return error ? `absent: ${engine} (no program ${program})` : null
}

export const npmAbsence = () => programAbsence('npm', 'npm', '--version')

/** Why a driver can not be tested here; null when it can. */
async function absence(name: LocalDriver): Promise<string | null> {
  try {
    findExecd()
    const fault = await openDriver({ kind: name }).unavailable(AbortSignal.timeout(TEST_MS))
    return fault && `absent: ${name} (${fault.reason})`
  } catch (error) {
    return messageOf(error)
  }
}
const absences = new Map<DriverName, string | null>()
for (const name of LOCAL_DRIVERS) absences.set(name, await absence(name))

/** Why nothing can be tested on that driver here; null when it can. */
export const absenceOf = (name: LocalDriver): string | null => absences.get(name) ?? null

export type Bench = {
  driver: SandboxDriver
  /** The spec of this test's sandbox, in folders that only it uses. */
  spec(change?: Partial<SandboxSpec>): SandboxSpec
  open(change?: Partial<SandboxSpec>): Promise<Sandbox>
  signal: AbortSignal
  folder: string
}

/** The same test for every driver that this machine has, one after the other. */
export function testOnDrivers(
  title: string,
  body: (bench: Bench, context: TestContext) => Promise<void>,
  names: readonly LocalDriver[] = LOCAL_DRIVERS,
): void {
  for (const name of names) {
    const skip = absences.get(name) ?? false
    test(`${title} (${name})`, { skip, timeout: TEST_MS }, async context => {
      const folder = mkdtempSync(join(tmpdir(), 'beige-sandbox-'))
      chmodSync(folder, 0o711) // the agent's user goes through it
      const driver = openDriver({ kind: name })
      const opened: Promise<Sandbox>[] = []
      const signal = AbortSignal.any([context.signal, AbortSignal.timeout(TEST_MS)])
      const id = `test-${folder.slice(-6).toLowerCase()}-${name}`
      const spec = (change: Partial<SandboxSpec> = {}): SandboxSpec => ({
        ...{ id, labels: {}, mounts: [], env: {}, network: 'none', image: 'host-usr' },
        ...{ workspaceDir: join(folder, 'workspace'), runDir: join(folder, 'run'), limits: DEFAULT_LIMITS },
        ...change,
      })
      const open = (change: Partial<SandboxSpec> = {}) => {
        const opening = driver.open(spec(change), signal)
        opened.push(opening)
        return opening
      }
      try {
        await body({ driver, spec, open, signal, folder }, context)
      } finally {
        // Also those that a failed test never came to see.
        for (const opening of await Promise.allSettled(opened)) {
          if (opening.status === 'fulfilled') await opening.value.close()
        }
        rmSync(folder, { recursive: true, force: true })
      }
    })
  }
}

/** Standard output of a shell script, which must end well. */
export async function sh(
  exec: ExecClient,
  script: string,
  signal: AbortSignal,
  ...args: string[]
): Promise<string> {
  const command = { command: 'sh', args: ['-c', script, 'sh', ...args] }
  const { exitCode, stdout, stderr } = await exec.run(command, signal)
  const text = Buffer.from(stdout).toString('utf8')
  if (exitCode !== 0) throw new Error(`exit ${exitCode}: ${text}${Buffer.from(stderr).toString('utf8')}`)
  return text
}

/** Waits until `holds`; there is no event to wait for in another process. */
export async function until(holds: () => boolean | Promise<boolean>, signal: AbortSignal): Promise<void> {
  while (!(await holds())) {
    signal.throwIfAborted()
    await new Promise(resolve => setImmediate(resolve))
  }
}
