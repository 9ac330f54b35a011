/** Processes on the host that outlive us, told from later ones with the same number by their start time and the boot. */
import { readFileSync } from 'node:fs'
import { kill } from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Handle } from './run-folder.ts'

const POLL_MS = 5 // a process that is no child of ours tells nobody that it has ended
const END_MS = 10_000 // after SIGKILL; only a process stuck in the kernel takes longer

/** Null when there is no such process. */
export function identify(pid: number): Handle | null {
  const startTicks = startTicksOf(pid)
  return startTicks === null ? null : { pid, startTicks, bootId: bootId() }
}

export function isAlive({ pid, startTicks, bootId: boot }: Handle): boolean {
  return pid !== undefined && boot === bootId() && startTicksOf(pid) === startTicks
}

/** SIGTERM where `graceMs` is above 0, then SIGKILL; resolves when it is gone. */
export async function endProcess(handle: Handle, graceMs: number): Promise<void> {
  if (graceMs > 0) {
    signalTo(handle, 'SIGTERM')
    if (await gone(handle, graceMs)) return
  }
  signalTo(handle, 'SIGKILL')
  await gone(handle, END_MS)
}

async function gone(handle: Handle, withinMs: number): Promise<boolean> {
  const end = performance.now() + withinMs
  while (isAlive(handle)) {
    if (performance.now() > end) return false
    await sleep(POLL_MS)
  }
  return true
}

function signalTo(handle: Handle, signal: NodeJS.Signals): void {
  if (handle.pid === undefined || !isAlive(handle)) return
  try {
    kill(handle.pid, signal)
  } catch {
    // It ended between the look and the signal.
  }
}

// Field 22 of /proc/PID/stat; the name in field 2 may hold spaces and parentheses. A zombie counts as gone.
function startTicksOf(pid: number): string | null {
  const stat = read(`/proc/${pid}/stat`)
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return fields[0] === 'Z' || fields[0] === 'X' ? null : (fields[19] ?? null)
}

function bootId(): string {
  return read('/proc/sys/kernel/random/boot_id').trim()
}

function read(file: string): string {
  try {
    return readFileSync(file, 'latin1')
  } catch {
    return ''
  }
}
