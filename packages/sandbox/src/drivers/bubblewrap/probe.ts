/** Whether bwrap can make a sandbox here: a kernel setting, or a container around us, may forbid it. */
import { spawn } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { join } from 'node:path'
import { kill } from 'node:process'
import { fail } from '../../errors.ts'
import { isRoot } from '../workspace.ts'

const BIN_FOLDERS = ['/usr/bin', '/usr/local/bin', '/bin']
const PROBE_MS = 30_000 // it takes milliseconds, on a machine that has the time
const MAX_WORDS_CHARS = 2000

export type Found = { bwrap: string; canDisableUserns: boolean }
export type Fault = { reason: string }

export async function probe(signal: AbortSignal): Promise<Found | Fault> {
  const bwrap = BIN_FOLDERS.map(folder => join(folder, 'bwrap')).find(isExecutable)
  if (!bwrap) return { reason: 'bwrap is missing' }
  const needed = isRoot() ? ['/usr/bin/setpriv', '/usr/bin/prlimit'] : ['/usr/bin/prlimit']
  const missing = needed.find(path => !isExecutable(path))
  if (missing) return { reason: `${missing} is missing (util-linux)` }

  const user = isRoot() ? [] : ['--unshare-user']
  const spaces = [...user, '--unshare-pid', '--unshare-net', '--unshare-ipc', '--unshare-uts']
  const attempt = async (...extra: string[]) => {
    if (signal.aborted) throw fail('aborted', { what: 'looking for bubblewrap' })
    return await failureOf(bwrap, [
      ...spaces,
      ...extra,
      '--ro-bind',
      '/',
      '/',
      '--proc',
      '/proc',
      '/usr/bin/true',
    ])
  }
  if (!isRoot() && (await attempt('--disable-userns')) === null) return { bwrap, canDisableUserns: true }
  const failure = await attempt()
  return failure === null ? { bwrap, canDisableUserns: false } : { reason: failure }
}

/**
 * Null when it ends well, else its words. A caller's abort waits for its end: killed in the middle of its start, bwrap leaves
 * a process behind that waits for it for ever.
 */
function failureOf(program: string, args: readonly string[]): Promise<string | null> {
  return new Promise(resolve => {
    const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'], detached: true, env: {} })
    const timer = setTimeout(() => killGroup(child.pid), PROBE_MS)
    let words = ''
    child.stderr.on('data', chunk => {
      if (words.length < MAX_WORDS_CHARS) words += String(chunk)
    })
    const end = (failure: string | null) => {
      clearTimeout(timer)
      resolve(failure)
    }
    child.on('error', error => end(`${program}: ${error.message}`))
    child.on('close', code => end(code === 0 ? null : words.trim() || `${program} does not run`))
  })
}

/** A started bwrap and what it has forked so far; it has made no session of its own before its program runs. */
export function killGroup(pid: number | undefined): void {
  if (pid === undefined) return
  try {
    kill(-pid, 'SIGKILL')
  } catch {
    // All of it has ended already.
  }
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
