/** The sandbox of a session that `agent` runs: chosen at the first tool call, one per session. */
import { createHash } from 'node:crypto'
import { lstat } from 'node:fs/promises'
import { join } from 'node:path'
import { type SandboxHands, sandboxHands } from '@beige/harness'
import type { SessionId } from '@beige/protocol'
import { chooseDriver, DEFAULT_LIMITS, type DriverOptions, type SandboxSpec } from '@beige/sandbox'
import type { AgentOptions } from './options.ts'

export const WORKSPACE = '/workspace'
const CONTEXT_FILES = ['AGENTS.md', 'CLAUDE.md']

export function agentHands(
  options: Pick<AgentOptions, 'sandbox' | 'sandboxImage' | 'stateDir'>,
  sessionId: SessionId,
  cwd: string,
  drivers: DriverOptions,
  warn: (text: string) => void,
): SandboxHands {
  // Ids are file names in any case and up to 128 long; a container name is neither.
  const id = `agent-${createHash('sha256').update(sessionId).digest('hex').slice(0, 16)}`
  const spec: SandboxSpec = {
    id,
    labels: { 'beige.session': sessionId },
    workspaceDir: cwd,
    runDir: join(options.stateDir, 'sandboxes', id),
    mounts: [],
    env: {},
    network: 'none',
    limits: DEFAULT_LIMITS,
    image: options.sandboxImage,
  }
  if (options.sandbox.kind === 'host') warn('tools run on this machine with your own rights (--sandbox host)')
  return sandboxHands(signal => chooseDriver(options.sandbox, signal, drivers), spec)
}

/** The folder that the model is told of; the host driver shows real paths. */
export function workdirOf(options: Pick<AgentOptions, 'sandbox'>, cwd: string): string {
  return options.sandbox.kind === 'host' ? cwd : WORKSPACE
}

/**
 * Whether the workspace has notes to read. Their names are looked at here so that a workspace without any does not make
 * the first model request wait for its sandbox; their content is read through the sandbox alone.
 */
export async function hasNotes(cwd: string): Promise<boolean> {
  const found = await Promise.all(
    CONTEXT_FILES.map(name =>
      lstat(join(cwd, name)).then(
        () => true,
        () => false,
      ),
    ),
  )
  return found.includes(true)
}
