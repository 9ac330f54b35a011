/** The sandbox that a benchmark runs in: nothing in it but a workspace, and a label to find it by. */
import { mkdirSync } from 'node:fs'
import { chown } from 'node:fs/promises'
import { join } from 'node:path'
import { DEFAULT_LIMITS, type SandboxSpec } from '@beige/sandbox'

export const BENCH_LABEL = 'beige.bench'
const AGENT_UID = 10_001 // any but root: commands run as the owner of the workspace

export async function benchSpec(folder: string, id: string): Promise<SandboxSpec> {
  const workspaceDir = join(folder, 'workspace')
  mkdirSync(workspaceDir, { recursive: true })
  if (process.getuid?.() === 0) await chown(workspaceDir, AGENT_UID, AGENT_UID)
  return {
    id,
    labels: { [BENCH_LABEL]: id },
    workspaceDir,
    runDir: join(folder, 'run'),
    mounts: [],
    env: {},
    network: 'none',
    limits: DEFAULT_LIMITS,
  }
}
