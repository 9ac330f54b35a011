/** The workspace on the host, and the user as whom its sandbox runs: its owner, never root. */
import { chownSync, mkdirSync, realpathSync, statSync } from 'node:fs'
import { geteuid } from 'node:process'
import { fail } from '../errors.ts'
import type { SandboxSpec } from '../sandbox.ts'

/** Owner of workspaces that the product makes while it runs as root. */
export const MADE_BY_ROOT = { uid: 10001, gid: 10001 } as const

export type User = { uid: number; gid: number }
export type Workspace = { path: string; user: User }

/** Makes the folder when it is missing: ours, or 10001's when we are root, since nothing in a sandbox is root. */
export function makeWorkspace(path: string): void {
  const made = mkdirSync(path, { recursive: true, mode: 0o755 })
  if (made !== undefined && isRoot()) chownSync(path, MADE_BY_ROOT.uid, MADE_BY_ROOT.gid)
}

/** `anyUser`: the driver can run commands as somebody else than us. */
export function workspaceOf(spec: SandboxSpec, anyUser: boolean): Workspace {
  makeWorkspace(spec.workspaceDir)
  const path = realpathSync(spec.workspaceDir)
  const owner = statSync(path)
  if (!owner.isDirectory()) throw fail('bad_spec', { id: spec.id, what: `${path} is not a directory` })
  const user = spec.user ?? { uid: owner.uid, gid: owner.gid === 0 ? owner.uid : owner.gid }
  if (user.uid === 0) throw fail('workspace_root_owned', { path })
  const uid = geteuid?.() ?? -1
  if (!anyUser && !isRoot() && user.uid !== uid)
    throw fail('workspace_foreign', { path, owner: user.uid, uid })
  return { path, user }
}

export function isRoot(): boolean {
  return geteuid?.() === 0
}
