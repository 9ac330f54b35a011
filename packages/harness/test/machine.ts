/** A Docker sandbox of its own for a test, and why there is none here. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { messageOf } from '@beige/protocol'
import { DEFAULT_LIMITS, findExecd, openDriver, type SandboxSpec } from '@beige/sandbox'

const PROBE_MS = 20_000

/** Why tests that need an engine are skipped, or false. */
export async function dockerAbsence(): Promise<string | false> {
  try {
    findExecd()
  } catch (error) {
    return `absent: execd (${messageOf(error)})`
  }
  const fault = await openDriver({ kind: 'docker' }).unavailable(AbortSignal.timeout(PROBE_MS))
  return fault ? `absent: docker (${fault.reason})` : false
}

/** In folders that only it uses; they go with the returned value. */
export function ownSpec(): { spec: SandboxSpec; [Symbol.dispose](): void } {
  const folder = mkdtempSync(join(tmpdir(), 'beige-hands-'))
  const spec: SandboxSpec = {
    ...{ id: `test-${folder.slice(-6).toLowerCase()}`, labels: {}, mounts: [], env: {}, network: 'none' },
    ...{ workspaceDir: join(folder, 'workspace'), runDir: join(folder, 'run'), limits: DEFAULT_LIMITS },
    image: 'host-usr',
  }
  return { spec, [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) }
}
