/**
 * One command with all that it starts. Node can adopt no orphans, so a process of a command is known by a variable that it
 * inherits, and a shell stands between as its supervisor, whose death is seen.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { accessSync, constants, readdirSync, readFileSync } from 'node:fs'
import { constants as os } from 'node:os'
import { join, resolve } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { setTimeout as wait } from 'node:timers/promises'
import type { Has } from './defects.ts'

// Descriptor 3 takes the status, 4 is the command's stderr: the shell's own words are nobody's output.
const SUPERVISOR = '"$@" 2>&4 3>&- 4>&-; echo $? >&3'
const MARK = 'WRONG_ENDPOINT_RUN'
const GRACE_MS = 2000
const DRAIN_MS = 250
const STEP_MS = 10
const LOOKS = 3 // a process in the middle of an exec shows no variables for a moment

export type Status = { exit_code: number | null; signal: string | null }
export type Tree = {
  pid: number
  stdin: Writable | null
  stdout: Readable
  stderr: Readable
  /** The command itself has ended; or its supervisor has, and nobody knows. */
  exited: Promise<Status & { isLost?: true }>
  /** SIGTERM, 2 s, SIGKILL; resolves when nothing is left. */
  end(): Promise<void>
}

export type Start = {
  path: string
  args: readonly string[]
  cwd: string
  env: Record<string, string>
  hasStdin: boolean
}

/** Pids of the processes that carry a mark. */
export type FindMarked = (mark: string) => number[]

/** Looks at each process once: one that has variables and no mark of ours gets none later. */
export function markedFinder(): FindMarked {
  let foreign = new Set<number>()
  return mark => {
    const now = pids()
    foreign = foreign.intersection(new Set(now))
    return now.filter(pid => {
      if (foreign.has(pid)) return false
      const variables = readProc(pid, 'environ')
      if (variables !== '' && !variables.includes(`${MARK}=`)) foreign.add(pid)
      return variables.includes(`${MARK}=${mark}`)
    })
  }
}

export function startTree(start: Start, has: Has, findMarked: FindMarked): Tree {
  const { path, args, cwd, env, hasStdin } = start
  const mark = randomUUID()
  const child = spawn('/bin/sh', ['-c', SUPERVISOR, 'sh', path, ...args], {
    cwd,
    env: { ...env, [MARK]: mark },
    stdio: [hasStdin ? 'pipe' : 'ignore', 'pipe', 'ignore', 'pipe', 'pipe'],
    detached: true,
  })
  const pid = child.pid ?? 0
  const left = () => (has('kills_group_only') ? groupOf(pid) : findMarked(mark)).filter(one => one !== pid)
  const stdout = readableOf(child, 1)
  const stderr = readableOf(child, 4)
  child.stdin?.on('error', () => undefined)
  return {
    ...{ pid, stdin: child.stdin, stdout, stderr },
    exited: statusOf(child),
    async end() {
      const killAtMs = performance.now() + (has('kills_without_grace') ? 0 : GRACE_MS)
      const signalAll = (signal: NodeJS.Signals) => {
        for (const one of left()) send(one, signal)
      }
      signalAll(has('kills_without_grace') ? 'SIGKILL' : 'SIGTERM')
      if (has('answers_before_dead')) {
        void wait(GRACE_MS).then(() => signalAll('SIGKILL'))
        return
      }
      for (let looks = 0; looks < LOOKS; looks++) {
        if (left().length > 0) looks = -1
        if (performance.now() > killAtMs) signalAll('SIGKILL')
        await wait(STEP_MS)
      }
    },
  }
}

/** Resolves when both pipes are closed, or after a moment; true when something held one. */
export async function drained(tree: Tree, has: Has): Promise<boolean> {
  const closed = Promise.all([closing(tree.stdout), closing(tree.stderr)])
  if (has('held_pipe_holds_answer')) {
    await closed
    return false
  }
  const over = new AbortController()
  const late = wait(DRAIN_MS, true, { signal: over.signal }).catch(() => false)
  const isHeld = await Promise.race([closed.then(() => false), late])
  over.abort()
  if (isHeld) for (const pipe of [tree.stdout, tree.stderr]) pipe.destroy()
  return isHeld
}

/** The absolute path of a program, or null. */
export function findProgram(command: string, path: string, cwd: string): string | null {
  const candidates = command.includes('/')
    ? [resolve(cwd, command)]
    : path.split(':').map(folder => join(folder || '.', command))
  return candidates.find(isExecutable) ?? null
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

function readableOf(child: ChildProcess, at: number): Readable {
  const stream = child.stdio[at]
  if (!stream || !('read' in stream)) throw new Error(`descriptor ${at} is no pipe`)
  stream.on('error', () => undefined)
  return stream as Readable
}

async function statusOf(child: ChildProcess): Promise<Status & { isLost?: true }> {
  let text = ''
  const pipe = readableOf(child, 3).on('data', part => {
    text += part
  })
  const [, signal] = await new Promise<[number | null, string | null]>(resolve => {
    child.once('exit', (code, name) => resolve([code, name]))
    child.once('error', () => resolve([null, 'SIGKILL']))
  })
  if (!signal) await closing(pipe)
  pipe.destroy()
  const code = Number.parseInt(text, 10)
  if (Number.isNaN(code)) return { exit_code: null, signal: signal ?? 'SIGKILL', isLost: true }
  const name = Object.entries(os.signals).find(([, number]) => number === code - 128)?.[0]
  return code > 128 && name ? { exit_code: null, signal: name } : { exit_code: code, signal: null }
}

function closing(stream: Readable): Promise<void> {
  return new Promise(resolve => (stream.closed ? resolve() : stream.once('close', resolve)))
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // gone meanwhile
  }
}

function groupOf(leader: number): number[] {
  return pids().filter(pid => {
    const [state, , group] = readProc(pid, 'stat').split(') ').at(-1)?.split(' ') ?? []
    return state !== 'Z' && group === String(leader)
  })
}

function pids(): number[] {
  return readdirSync('/proc').map(Number).filter(Number.isInteger)
}

function readProc(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'latin1')
  } catch {
    return ''
  }
}
