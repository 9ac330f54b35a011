/** No sandbox: execd on this machine, as the workspace's owner. Only by name; nothing here keeps a command from anything. */
import { spawn } from 'node:child_process'
import { closeSync, constants, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fail } from '../errors.ts'
import { findExecd } from '../execd-file.ts'
import type { SandboxDriver, SandboxSpec } from '../sandbox.ts'
import { endProcess, identify, isAlive } from './host-process.ts'
import { openSandbox, type Place } from './open-sandbox.ts'
import { openRunFolder, type RunFolder } from './run-folder.ts'
import { checkSpec, specDigest } from './spec-check.ts'
import { isRoot, type Workspace, workspaceOf } from './workspace.ts'

const GRACE_MS = 6_000 // execd ends its jobs first, each within 2 s
const MAX_LAST_WORDS = 2000 // characters
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

export type HostOptions = {
  execdPath?: string
  /** What commands get beside the spec's own; a main program gives its PATH and HOME. Never its whole environment: it has keys. */
  env?: Readonly<Record<string, string>>
}

export function hostDriver(options: HostOptions = {}): SandboxDriver {
  return {
    name: 'host',
    unavailable: async () => null,
    async open(spec, signal) {
      checkSpec(spec)
      const workspace = workspaceOf(spec, false)
      const folder = openRunFolder(spec.runDir, findExecd(options.execdPath), workspace.user)
      const env = hostEnv(spec, workspace, options.env ?? {})
      const digest = specDigest(spec, { driver: 'host', workspace, env, execd: folder.execdDigest })
      return await openSandbox(spec, digest, folder, placeOf(spec, folder, workspace, env), signal)
    },
  }
}

function hostEnv(spec: SandboxSpec, workspace: Workspace, base: Readonly<Record<string, string>>) {
  const path = base.PATH ?? PATH
  return {
    LANG: 'C.UTF-8',
    ...base,
    HOME: isRoot() || base.HOME === undefined ? workspace.path : base.HOME, // root's is not its user's
    PATH: spec.launchersDir ? `${spec.launchersDir}:${path}` : path,
    ...spec.env,
    EXECD_LISTEN: 'unix:/proc/self/fd/3/exec.sock', // by the folder's descriptor: its path may be too long for a socket
    EXECD_PEERS: 'any',
    EXECD_ROOT: workspace.path,
    EXECD_LOG: 'off',
    EXECD_IDLE_EXIT_S: '600',
  }
}

function placeOf(
  spec: SandboxSpec,
  folder: RunFolder,
  workspace: Workspace,
  env: Readonly<Record<string, string>>,
): Place {
  const logFile = join(folder.path, 'host.log')
  return {
    driver: 'host',
    workspace: workspace.path,
    user: workspace.user,
    hardened: false,
    isRunning: async handle => isAlive(handle),

    async start(record) {
      const pid = startExecd(folder, workspace, env, logFile)
      const handle = pid === undefined ? null : identify(pid)
      if (!handle)
        throw fail('sandbox_start_failed', { id: spec.id, reason: lastWords(logFile) || 'execd ended' })
      record(handle)
      return handle
    },
    async end(handle) {
      if (handle) await endProcess(handle, GRACE_MS)
    },
    lastWords: async () => lastWords(logFile),

    async inspect(_handle, view) {
      const { uid, gid, capabilities, noNewPrivileges, seccomp, readOnlyRoot, network } = view
      const seen = { uid, gid, capabilities, noNewPrivileges, seccomp, readOnlyRoot, network }
      const limits = { memoryBytes: null, pids: null, cpus: null, by: 'none' } as const
      return { driver: 'host', place: 'this machine, not isolated', ...seen, limits }
    },
  }
}

/** Descriptors: 3 the folder of the socket, 4 the program; both may lie where the other user has no way in by path. */
function startExecd(
  folder: RunFolder,
  workspace: Workspace,
  env: Readonly<Record<string, string>>,
  logFile: string,
): number | undefined {
  const log = openSync(logFile, 'w', 0o600)
  const dir = openSync(folder.exec, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW)
  const program = openSync(join(folder.beige, 'execd'), constants.O_RDONLY)
  try {
    const child = spawn('/proc/self/fd/4', [], {
      argv0: 'execd', // under another name it is the tool client
      stdio: ['ignore', log, log, dir, program],
      detached: true,
      env,
      cwd: '/',
      ...(isRoot() ? workspace.user : {}),
    })
    child.on('error', () => undefined) // seen as a missing pid
    child.unref()
    return child.pid
  } finally {
    for (const fd of [log, dir, program]) closeSync(fd)
  }
}

function lastWords(logFile: string): string {
  try {
    return readFileSync(logFile, 'utf8').slice(0, MAX_LAST_WORDS).trim()
  } catch {
    return ''
  }
}
