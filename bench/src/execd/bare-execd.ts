/** execd itself, as a process on this machine: what it weighs, and what a call to it costs without a sandbox around. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { createExecClient, type ExecClient, findExecd } from '@beige/sandbox'

const START_MS = 10_000
const POLL_MS = 5

export type BareExecd = { pid: number; binary: string; root: string; exec: ExecClient } & AsyncDisposable

export async function startBareExecd(signal: AbortSignal): Promise<BareExecd> {
  const binary = findExecd()
  const root = mkdtempSync(join(tmpdir(), 'beige-bench-'))
  const socketPath = join(root, 'exec.sock')
  const env = {
    PATH: process.env.PATH ?? '/usr/bin:/bin',
    EXECD_LISTEN: `unix:${socketPath}`,
    EXECD_ROOT: root,
  }
  const child = spawn(binary, [], { env, stdio: ['ignore', 'ignore', 'inherit'] })
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(START_MS)])
  while (!existsSync(socketPath)) {
    deadline.throwIfAborted()
    await pause(POLL_MS)
  }
  const exec = createExecClient({ kind: 'unix', socketPath, basePath: '' })
  await exec.health(signal)
  return {
    pid: child.pid ?? 0,
    binary,
    root,
    exec,
    async [Symbol.asyncDispose]() {
      await exec.close()
      if (child.exitCode === null && child.kill('SIGTERM')) await once(child, 'exit')
      rmSync(root, { recursive: true, force: true })
    },
  }
}
