/** A running or finished command: its output in order of arrival, its end, and who waits for either. */
import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Readable } from 'node:stream'
import type { Has } from './defects.ts'
import { drained, type FindMarked, findProgram, type Status, startTree, type Tree } from './processes.ts'
import { Refusal, type Wanted } from './wire.ts'

const MAX_STDIN_OF_DEFECT = 64 * 1024
const FIRST_HIGH_BYTE = 0x80

export type Output = 'stdout' | 'stderr'
export type Chunk = { stream: Output; offset: number; bytes: Buffer }
export type End = Status & { timed_out: boolean; held_pipes?: true }
export type Run = {
  pid: number
  chunks: Chunk[]
  /** Of `chunks`, that are not held any more. */
  shifted: number
  bytes: Record<Output, number>
  dropped: number
  end: End | null
  ended: Promise<End>
  /** Called at each chunk and at the end. */
  watchers: Set<() => void>
  /** While one of them holds it, its pipes are not read. */
  holders: Set<object>
  regulate(): void
  kill(): Promise<End>
  writeStdin(bytes: Buffer, isLast: boolean): boolean
}

export type RunSetting = {
  has: Has
  root: string
  env: Readonly<Record<string, string>>
  findMarked: FindMarked
  maxHeldBytes: () => number
}

export function startRun(wanted: Wanted, { has, root, env, findMarked, maxHeldBytes }: RunSetting): Run {
  const run = emptyRun()
  const cwd = has('ignores_cwd') ? root : resolve(root, wanted.cwd ?? '.')
  const variables = environment(
    has('env_replaces') && Object.keys(wanted.env).length > 0 ? {} : env,
    wanted.env,
  )
  const path = findProgram(wanted.command, variables.PATH ?? env.PATH ?? '', cwd)
  const words = !isFolder(cwd)
    ? `cwd ${cwd}: no such folder\n`
    : path
      ? null
      : `${wanted.command}: command not found\n`
  const take = (stream: Output, bytes: Buffer) => {
    const to = has('merges_streams') ? 'stdout' : stream
    const kept = has('loses_high_bytes') ? bytes.filter(byte => byte < FIRST_HIGH_BYTE) : bytes
    const chunk = { stream: to, offset: run.bytes[to], bytes: Buffer.from(kept) }
    run.bytes[to] += kept.length
    run.chunks.push(chunk)
    drop(run, maxHeldBytes())
    for (const watcher of run.watchers) watcher()
  }
  const finish = (end: End) => {
    run.end = end
    for (const watcher of [...run.watchers]) watcher()
    return end
  }
  if (words !== null || path === null) {
    if (path === null && has('missing_program_is_500')) throw new Refusal('internal', 'spawn ENOENT')
    take('stderr', Buffer.from(words ?? ''))
    run.ended = Promise.resolve(
      finish({ exit_code: path && words ? 126 : 127, signal: null, timed_out: false }),
    )
    return run
  }
  const args = has('trims_args') ? wanted.args.map(arg => arg.trim()).filter(arg => arg !== '') : wanted.args
  const hasStdin = wanted.stdin !== undefined || wanted.stdin_open
  const tree = startTree({ path, args, cwd, env: variables, hasStdin }, has, findMarked)
  run.pid = tree.pid
  const pipes = [tree.stdout, tree.stderr]
  readFrom(tree.stdout, 'stdout', take)
  readFrom(tree.stderr, 'stderr', take)
  run.regulate = () => {
    const isHeld = run.holders.size > 0 && !has('reads_without_bound')
    for (const pipe of pipes) isHeld ? pipe.pause() : pipe.resume()
  }
  const stdin = Buffer.from(wanted.stdin ?? '', 'base64')
  run.writeStdin = (bytes, isLast) => {
    if (!tree.stdin || tree.stdin.writableEnded || run.end) return has('stdin_always_taken')
    if (bytes.length > 0) tree.stdin.write(bytes)
    if (isLast) tree.stdin.end()
    return true
  }
  run.writeStdin(has('cuts_stdin') ? stdin.subarray(0, MAX_STDIN_OF_DEFECT) : stdin, !wanted.stdin_open)
  watch(run, tree, wanted.timeout_ms, has, finish)
  return run
}

function watch(
  run: Run,
  tree: Tree,
  timeoutMs: number | undefined,
  has: Has,
  finish: (end: End) => End,
): void {
  let ending: Promise<void> | null = null
  let timed_out = false
  const stop = () => {
    ending ??= tree.end()
    return ending
  }
  const timer = timeoutMs === undefined ? undefined : setTimeout(onTime, timeoutMs)
  function onTime() {
    timed_out = true
    void stop()
  }
  run.kill = async () => {
    run.holders.clear()
    run.regulate()
    await stop()
    return await run.ended
  }
  run.ended = (async () => {
    const { isLost = false, ...status } = await tree.exited
    clearTimeout(timer)
    if (isLost) await tree.end()
    const isHeld = await drained(tree, has)
    await ending
    if (!has('no_sweep')) await tree.end()
    if (timed_out && has('drops_output_of_timed_out')) run.chunks.length = 0
    const isCode = status.exit_code !== null && status.exit_code > 1 && has('exit_code_is_a_truth')
    return finish({
      ...(isCode ? { ...status, exit_code: 1 } : has('signal_as_code') ? asCode(status) : status),
      timed_out: timed_out && !has('timeout_not_said'),
      ...(isHeld && ending === null ? { held_pipes: true } : {}),
    })
  })()
}

function asCode(status: Status): Status {
  return status.signal === null ? status : { exit_code: 137, signal: null }
}

function readFrom(pipe: Readable, stream: Output, take: (stream: Output, bytes: Buffer) => void): void {
  pipe.on('data', (bytes: Buffer) => take(stream, bytes))
}

function emptyRun(): Run {
  return {
    pid: 0,
    chunks: [],
    shifted: 0,
    bytes: { stdout: 0, stderr: 0 },
    dropped: 0,
    end: null,
    ended: new Promise(() => undefined),
    watchers: new Set(),
    holders: new Set(),
    regulate: () => undefined,
    kill: async () => ({ exit_code: 127, signal: null, timed_out: false }),
    writeStdin: () => false,
  }
}

/** Of a kept job the oldest goes first, and is counted. */
function drop(run: Run, maxBytes: number): void {
  const held = () => run.bytes.stdout + run.bytes.stderr - run.dropped
  while (held() > maxBytes) {
    const first = run.chunks.shift()
    if (!first) return
    run.shifted++
    run.dropped += first.bytes.length
  }
}

function environment(
  base: Readonly<Record<string, string>>,
  changes: Readonly<Record<string, string | null>>,
): Record<string, string> {
  const variables: Record<string, string> = { ...base }
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) delete variables[name]
    else variables[name] = value
  }
  return variables
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
}
