/** Sandboxes out of namespaces, by `bwrap`: no engine, no image, this machine's programs read-only. */
import { readFileSync } from 'node:fs'
import { setPriority } from 'node:os'
import { join } from 'node:path'
import { fail, sandboxErrors } from '../../errors.ts'
import { findExecd } from '../../execd-file.ts'
import type { SandboxDriver, SandboxSpec } from '../../sandbox.ts'
import { endProcess, identify, isAlive } from '../host-process.ts'
import { hostUsr } from '../host-usr.ts'
import { INSIDE_WORKSPACE } from '../inside-env.ts'
import { openSandbox, type Place } from '../open-sandbox.ts'
import { openRunFolder, type RunFolder } from '../run-folder.ts'
import { checkSpec, specDigest } from '../spec-check.ts'
import { isRoot, type Workspace, workspaceOf } from '../workspace.ts'
import { bwrapOptions, insideCommand, type Plan, unsafeVariable } from './arguments.ts'
import { joinGroup, makeGroup, readGroup, removeGroup } from './control-group.ts'
import { type Fault, type Found, probe } from './probe.ts'
import { startBwrap } from './start.ts'

const MAX_LAST_WORDS = 2000 // characters
const NICE = 5 // where no control group bounds the processor

export type BubblewrapOptions = { execdPath?: string }
type Look = (signal: AbortSignal) => Promise<Found | Fault>

export function bubblewrapDriver(options: BubblewrapOptions = {}): SandboxDriver {
  let known: Found | null = null
  const look = async (signal: AbortSignal) => {
    const found = known ?? (await probe(signal))
    if (!('reason' in found)) known = found // what is missing may be installed meanwhile
    return found
  }
  return {
    name: 'bubblewrap',
    async unavailable(signal) {
      const found = await look(signal)
      return 'reason' in found ? { reason: found.reason, advice: sandboxErrors.no_bubblewrap.advice } : null
    },
    async open(spec, signal) {
      checkSpec(spec)
      const byRoot = isRoot()
      const unsafe = byRoot ? unsafeVariable(spec) : null
      if (unsafe) {
        const what = `${unsafe} would be obeyed by root on the way into the sandbox; set it in the commands`
        throw fail('bad_spec', { id: spec.id, what })
      }
      const workspace = workspaceOf(spec, false)
      const execdPath = findExecd(options.execdPath)
      const folder = openRunFolder(spec.runDir, execdPath, workspace.user)
      const place = placeOf(spec, folder, workspace, byRoot, look)
      const digest = specDigest(spec, { driver: 'bubblewrap', workspace, execd: folder.execdDigest })
      return await openSandbox(spec, digest, folder, place, signal)
    },
  }
}

function placeOf(
  spec: SandboxSpec,
  folder: RunFolder,
  workspace: Workspace,
  byRoot: boolean,
  look: Look,
): Place {
  const logFile = join(folder.path, 'bubblewrap.log')
  return {
    driver: 'bubblewrap',
    workspace: INSIDE_WORKSPACE,
    user: workspace.user,
    hardened: true,
    isRunning: async handle => isAlive(handle),

    async start(record, signal) {
      const found = await look(signal)
      if ('reason' in found) throw fail('no_bubblewrap', { reason: found.reason })
      const groups = makeGroup(spec.id, spec.limits)
      const plan: Plan = {
        ...{ spec, folder, workspace, byRoot, usr: hostUsr() },
        limitByProcess: groups === null,
        canDisableUserns: found.canDisableUserns,
      }
      const started = await startBwrap(found.bwrap, bwrapOptions(plan), insideCommand(plan), logFile)
      const process = started && identify(started.pid)
      if (!started || !process) {
        await removeGroup(groups ?? [])
        throw fail('sandbox_start_failed', { id: spec.id, reason: lastWords(logFile) })
      }
      const handle = { ...process, groups: groups ?? [] }
      record(handle)
      if (groups) joinGroup(groups, started.pid)
      else setPriority(started.pid, NICE)
      started.release()
      return handle
    },

    // Process 1 of a namespace takes all others with it.
    async end(handle) {
      if (!handle) return
      await endProcess(handle, 0)
      await removeGroup(handle.groups ?? [])
    },
    lastWords: async () => lastWords(logFile),

    async inspect(handle, view) {
      const groups = handle.groups ?? []
      const { uid, gid, capabilities, noNewPrivileges, seccomp, readOnlyRoot, network } = view
      const byProcess = { memoryBytes: view.dataBytes, pids: view.nproc, cpus: null }
      const limits =
        groups.length > 0
          ? { ...readGroup(groups), by: 'cgroup' as const }
          : { ...byProcess, by: 'prlimit' as const }
      const seen = { uid, gid, capabilities, noNewPrivileges, seccomp, readOnlyRoot, network }
      return { driver: 'bubblewrap', place: `bubblewrap, this machine's /usr`, ...seen, limits }
    },
  }
}

function lastWords(logFile: string): string {
  try {
    return readFileSync(logFile, 'utf8').slice(0, MAX_LAST_WORDS).trim()
  } catch {
    return ''
  }
}
