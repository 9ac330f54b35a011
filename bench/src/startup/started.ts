/** Starts a program in a fresh folder that belongs to an ordinary user, and cleans up after it. */
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import type { Launch } from './program.ts'

const DEADLINE_MS = 60_000
const AGENT_UID = 10_001 // a sandbox runs commands as the owner of the workspace, and refuses root

export type Started = AsyncDisposable & {
  child: ChildProcessByStdio<Writable, Readable, Readable>
  pid: number
  startedEpochMs: number
  workspace: string
  /** Resolves when it has ended by itself, with the code and all that it said. */
  ended: Promise<{ code: number | null; endedEpochMs: number; stdout: string; stderr: string }>
}

export function start(launch: Launch, home: string): Started {
  const workspace = mkdtempSync(join(home, 'task-'))
  chmodSync(workspace, 0o755)
  if (process.getuid?.() === 0) chownSync(workspace, AGENT_UID, AGENT_UID)
  const [program = '', ...args] = launch.argv
  const startedEpochMs = epochMs()
  const child = spawn(program, args, {
    cwd: workspace,
    env: launch.env,
    stdio: ['pipe', 'pipe', 'pipe'],
    timeout: DEADLINE_MS,
  })
  const exit = once(child, 'exit').then(([code]) => ({ code, endedEpochMs: epochMs() }))
  const said = Promise.all(
    [child.stdout, child.stderr].map(async stream => Buffer.concat(await stream.toArray()).toString()),
  )
  return {
    child,
    pid: child.pid ?? 0,
    startedEpochMs,
    workspace,
    ended: Promise.all([exit, said]).then(([end, [stdout = '', stderr = '']]) => ({
      ...end,
      stdout,
      stderr,
    })),
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM')
      await exit
      rmSync(workspace, { recursive: true, force: true })
    },
  }
}

export function epochMs(): number {
  return performance.timeOrigin + performance.now()
}
