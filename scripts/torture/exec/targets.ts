/** Places where trees grow: an execd of its own for each lane, bare or in a sandbox, and a way to see what is left there. */
import { spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import {
  chooseDriver,
  createExecClient,
  DEFAULT_LIMITS,
  type ExecClient,
  findExecd,
  makeWorkspace,
} from '@beige/sandbox'
import { descendantsOf } from './processes.ts'

export const TARGETS = ['execd', 'bubblewrap', 'docker'] as const
export type TargetName = (typeof TARGETS)[number]

const PIDS = 128 // so that a storm meets its limit
const START_MS = 10_000
const POLL_MS = 5
const REAP_MS = 2_000

export type Target = {
  name: TargetName
  exec: ExecClient
  hasPidsLimit: boolean
  /** Whether processes there can name no others: what kills all that it can must not run anywhere else. */
  isNamespace: boolean
  /** Processes that belong to nothing that runs, as words for people. */
  leftovers(signal: AbortSignal): Promise<string[]>
} & AsyncDisposable

/** Throws where there is no such place on this machine, and says why. */
export async function openTarget(name: TargetName, lane: number, signal: AbortSignal): Promise<Target> {
  return name === 'execd' ? await openBare(signal) : await openSandbox(name, lane, signal)
}

async function openBare(signal: AbortSignal): Promise<Target> {
  const folder = mkdtempSync(join(tmpdir(), 'beige-torture-'))
  const socketPath = join(folder, 'exec.sock')
  const env = {
    PATH: process.env.PATH ?? '/usr/bin:/bin',
    EXECD_LISTEN: `unix:${socketPath}`,
    EXECD_ROOT: folder,
  }
  const child = spawn(findExecd(), [], { env, stdio: ['ignore', 'ignore', 'inherit'] })
  const ended = new Promise<void>(resolve => child.once('exit', () => resolve()))
  const isUp = AbortSignal.timeout(START_MS)
  while (!existsSync(socketPath) && !isUp.aborted) await pause(POLL_MS)
  const exec = createExecClient({ kind: 'unix', socketPath, basePath: '' })
  await exec.health(signal) // an abort is then never of this question, which nothing ran behind
  return {
    name: 'execd',
    exec,
    hasPidsLimit: false,
    isNamespace: false,
    // It adopts every orphan below it, so nothing that it started can be anywhere else.
    async leftovers() {
      const deadline = AbortSignal.timeout(REAP_MS)
      let left = descendantsOf(child.pid ?? 0)
      // The supervisor of a command that ended by itself says so before it ends.
      while (left.length > 0 && left.every(text => text.includes(' execd')) && !deadline.aborted) {
        await pause(POLL_MS)
        left = descendantsOf(child.pid ?? 0)
      }
      return left
    },
    async [Symbol.asyncDispose]() {
      await exec.close()
      child.kill('SIGTERM')
      await ended
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** In a namespace of its own everything that there is can be listed; by builtins alone, so that the list is not in it. */
const LIST = `for p in /proc/[0-9]*; do p=\${p#/proc/}
case $p in 1|$$|$PPID) ;; *) read -r name 2>/dev/null </proc/$p/comm && echo "$p $name";; esac; done; :`

async function openSandbox(
  name: 'bubblewrap' | 'docker',
  lane: number,
  signal: AbortSignal,
): Promise<Target> {
  const driver = await chooseDriver({ kind: name }, signal)
  const folder = mkdtempSync(join(tmpdir(), 'beige-torture-'))
  chmodSync(folder, 0o711) // the agent's user goes through it
  const workspaceDir = join(folder, 'workspace')
  await makeWorkspace(workspaceDir)
  const id = `torture-${process.pid}-${name}-${lane}`
  const sandbox = await driver.open(
    {
      id,
      labels: { 'beige.torture': id },
      workspaceDir,
      runDir: join(folder, 'run'),
      mounts: [],
      env: {},
      network: 'none',
      limits: { ...DEFAULT_LIMITS, pids: PIDS },
    },
    signal,
  )
  await sandbox.exec.health(signal)
  return {
    name,
    exec: sandbox.exec,
    hasPidsLimit: (await sandbox.inspect(signal)).limits.pids !== null,
    isNamespace: true,
    async leftovers(signal) {
      const { stdout } = await sandbox.exec.run({ command: 'sh', args: ['-c', LIST] }, signal)
      return Buffer.from(stdout).toString().split('\n').filter(Boolean)
    },
    async [Symbol.asyncDispose]() {
      await sandbox.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
