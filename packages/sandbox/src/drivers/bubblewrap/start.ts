/** Starts `bwrap` so that it outlives us, and holds it until its process is known and in its control group. */
import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { Readable, Writable } from 'node:stream'
import { fail } from '../../errors.ts'
import { killGroup } from './probe.ts'

const MAX_INFO_BYTES = 4096
const INFO_MS = 30_000 // for bwrap to make its namespaces, which takes milliseconds

export type StartedBwrap = {
  /** Process 1 of the sandbox, by its number on the host. */
  pid: number
  /** Lets it go on. Nothing in the sandbox has run before. */
  release(): void
}

export async function startBwrap(
  bwrap: string,
  options: readonly string[],
  command: readonly string[],
  logFile: string,
): Promise<StartedBwrap | null> {
  const log = openSync(logFile, 'w', 0o600)
  let child: ChildProcess
  try {
    // Descriptors: 3 options, 4 what it started, 5 held until we write.
    const holds = ['--info-fd', '4', '--block-fd', '5', '--args', '3']
    child = spawn(bwrap, [...holds, '--', ...command], {
      stdio: ['ignore', log, log, 'pipe', 'pipe', 'pipe'],
      detached: true,
      env: {},
      cwd: '/',
    })
  } finally {
    closeSync(log)
  }
  const pipes: readonly unknown[] = child.stdio
  const [, , , args, info, block] = pipes
  if (!(args instanceof Writable) || !(info instanceof Readable) || !(block instanceof Writable)) {
    throw fail('no_bubblewrap', { reason: `${bwrap} could not be started` })
  }
  for (const pipe of [child, args, info, block]) pipe.on('error', () => undefined) // seen as a missing pid
  child.unref()
  // Not by a caller's signal: what it has started must be known before anybody can end it.
  const timer = setTimeout(() => killGroup(child.pid), INFO_MS)
  args.end(Buffer.from(options.map(option => `${option}\0`).join('')))
  const pid = await readPid(info)
  clearTimeout(timer)
  if (pid === null) {
    block.destroy()
    return null
  }
  return { pid, release: () => block.end('x') }
}

// `{"child-pid": 123, …}`, then the end; nothing but the end where bwrap gave up.
async function readPid(info: Readable): Promise<number | null> {
  let text = ''
  for await (const chunk of info) {
    text += String(chunk)
    if (text.includes('}') || text.length > MAX_INFO_BYTES) break
  }
  const pid = /"child-pid":\s*(\d+)/.exec(text)?.[1]
  return pid === undefined ? null : Number(pid)
}
