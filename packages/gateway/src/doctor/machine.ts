/** What this machine brings: node, execd, engines, and whether a sandbox really holds when it is looked at from inside. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { explain } from '@beige/protocol'
import {
  chooseDriver,
  DEFAULT_LIMITS,
  type DriverOptions,
  findExecd,
  makeWorkspace,
  openDriver,
  type Sandbox,
} from '@beige/sandbox'
import { type Finding, missing, ok, warning } from './finding.ts'

const MIN_NODE_MAJOR = 24
const PROBE_ID = 'doctor'

export function nodeFinding(version: string): Finding {
  const major = Number(/^v(\d+)\./.exec(version)?.[1])
  if (major >= MIN_NODE_MAJOR) return ok('node', version.slice(1))
  return missing(
    'node',
    `${version.slice(1)} is too old`,
    'npm ci brings the right one; start with npm run beige',
  )
}

export function execdFinding(options: DriverOptions): Finding {
  try {
    return ok('execd', findExecd(options.execdPath))
  } catch (error) {
    return missing('execd', explain(error), '')
  }
}

/** One engine is enough; a second one that is absent is only said. */
export async function engineFindings(options: DriverOptions, signal: AbortSignal): Promise<Finding[]> {
  const kinds = ['docker', 'bubblewrap'] as const
  const faults = await Promise.all(kinds.map(kind => openDriver({ kind }, options).unavailable(signal)))
  const hasOne = faults.includes(null)
  return kinds.map((kind, index) => {
    const fault = faults[index]
    if (!fault) return ok(kind, 'works here')
    return hasOne ? ok(kind, `not used: ${fault.reason}`) : missing(kind, fault.reason, fault.advice)
  })
}

/** Opens a sandbox as an agent would get it, reads back what is in force and asks from inside for a network. */
export async function sandboxFindings(options: DriverOptions, signal: AbortSignal): Promise<Finding[]> {
  const folder = mkdtempSync(join(tmpdir(), 'beige-doctor-'))
  let sandbox: Sandbox | null = null
  try {
    const driver = await chooseDriver({ kind: 'auto' }, signal, options)
    const workspaceDir = join(folder, 'workspace')
    makeWorkspace(workspaceDir)
    sandbox = await driver.open(
      {
        id: `${PROBE_ID}-${folder.slice(-6).toLowerCase()}`,
        labels: { 'beige.doctor': 'true' },
        workspaceDir,
        runDir: join(folder, 'run'),
        mounts: [],
        env: {},
        network: 'none',
        limits: DEFAULT_LIMITS,
      },
      signal,
    )
    const found = await sandbox.inspect(signal)
    const links = await sandbox.exec.readFile('/proc/net/dev', signal)
    const names = new TextDecoder().decode(links.bytes).match(/^\s*[\w.-]+(?=:)/gm) ?? []
    const outside = names.map(name => name.trim()).filter(name => name !== 'lo')
    return [
      found.uid === 0
        ? missing('sandbox', `${found.place} would run commands as root`, 'Please report it')
        : ok('sandbox', `${found.place}, uid ${found.uid}, no capabilities`),
      found.limits.by === 'none'
        ? warning(
            'limits',
            'memory and processes are not limited',
            'Use Docker, or a cgroup that may be delegated',
          )
        : ok('limits', `memory and processes, by ${found.limits.by}`),
      outside.length === 0
        ? ok('egress', 'closed, seen from inside')
        : missing('egress', `open by ${outside.join(', ')}, seen from inside`, 'Please report it'),
    ]
  } catch (error) {
    return [missing('sandbox', explain(error), '')]
  } finally {
    await sandbox?.close()
    rmSync(folder, { recursive: true, force: true })
  }
}
