/** Limits by a control group of our own, version 1 or 2, where this process may make one. */
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { SandboxSpec } from '../../sandbox.ts'

const ROOT = '/sys/fs/cgroup'
const PARENT = 'beige'
const CPU_PERIOD_US = 100_000
const CONTROLLERS = ['memory', 'pids', 'cpu'] as const
const REMOVE_TRIES = 50 // the kernel lets go of a group a moment after its last process
const REMOVE_PAUSE_MS = 10

type Limits = SandboxSpec['limits']
export type GroupLimits = { memoryBytes: number | null; pids: number | null; cpus: number | null }

/** Its folders, or null where groups can not be made (no root, no delegation, a container). */
export function makeGroup(id: string, limits: Limits): string[] | null {
  const name = `${id}-${randomBytes(4).toString('hex')}` // a sandbox and the one made after it never share a group
  const made: string[] = []
  try {
    const unified = existsSync(join(ROOT, 'cgroup.controllers'))
    if (unified ? makeUnified(name, limits, made) : makeSeparate(name, limits, made)) return made
  } catch {
    // Not allowed, or not there: the caller limits each process instead.
  }
  for (const folder of made) tryRemove(folder)
  return null
}

function makeUnified(name: string, limits: Limits, made: string[]): boolean {
  const parent = join(ROOT, PARENT)
  mkdirSync(parent, { recursive: true })
  const enable = CONTROLLERS.map(controller => `+${controller}`).join(' ')
  writeFileSync(join(ROOT, 'cgroup.subtree_control'), enable)
  writeFileSync(join(parent, 'cgroup.subtree_control'), enable)
  const folder = join(parent, name)
  mkdirSync(folder, { recursive: true })
  made.push(folder)
  writeFileSync(join(folder, 'memory.max'), `${limits.memoryBytes}`)
  writeIfThere(join(folder, 'memory.swap.max'), '0')
  writeFileSync(join(folder, 'pids.max'), `${limits.pids}`)
  writeFileSync(join(folder, 'cpu.max'), `${quotaUs(limits)} ${CPU_PERIOD_US}`)
  return true
}

// Version 1: one tree a controller. Below the group we are in, so that limits set on us hold for the sandbox too.
function makeSeparate(name: string, limits: Limits, made: string[]): boolean {
  const own = readFileSync('/proc/self/cgroup', 'utf8')
  for (const controller of CONTROLLERS) {
    const match = new RegExp(`^\\d+:(?:[^:]*,)?${controller}(?:,[^:]*)?:(.*)$`, 'm').exec(own)
    if (!match) return false
    const folder = join(ROOT, controller, match[1] ?? '', PARENT, name)
    mkdirSync(folder, { recursive: true })
    made.push(folder)
    const set = (file: string, value: number) => writeFileSync(join(folder, file), `${value}`)
    if (controller === 'memory') {
      set('memory.limit_in_bytes', limits.memoryBytes)
      writeIfThere(join(folder, 'memory.memsw.limit_in_bytes'), `${limits.memoryBytes}`)
    } else if (controller === 'pids') set('pids.max', limits.pids)
    else {
      set('cpu.cfs_period_us', CPU_PERIOD_US)
      set('cpu.cfs_quota_us', quotaUs(limits))
    }
  }
  return true
}

/** Everything that this process starts later is in the group as well. */
export function joinGroup(folders: readonly string[], pid: number): void {
  for (const folder of folders) writeFileSync(join(folder, 'cgroup.procs'), `${pid}`)
}

/** What the kernel says is in force. */
export function readGroup(folders: readonly string[]): GroupLimits {
  const first = (...files: string[]) => {
    for (const folder of folders) {
      for (const file of files) {
        const path = join(folder, file)
        if (existsSync(path)) return readFileSync(path, 'utf8').trim()
      }
    }
    return ''
  }
  const [quota = '', period = ''] = first('cpu.max').split(' ')
  return {
    memoryBytes: numberOf(first('memory.max', 'memory.limit_in_bytes')),
    pids: numberOf(first('pids.max')),
    cpus: ratio(numberOf(quota || first('cpu.cfs_quota_us')), numberOf(period || first('cpu.cfs_period_us'))),
  }
}

export async function removeGroup(folders: readonly string[]): Promise<void> {
  for (const folder of folders) {
    for (let tries = 0; tries < REMOVE_TRIES && !tryRemove(folder); tries++) await sleep(REMOVE_PAUSE_MS)
  }
}

function tryRemove(folder: string): boolean {
  try {
    rmdirSync(folder)
    return true
  } catch {
    return !existsSync(folder)
  }
}

function quotaUs({ cpus }: Limits): number {
  return Math.max(1000, Math.round(cpus * CPU_PERIOD_US)) // the kernel's least is 1 ms
}

function writeIfThere(file: string, value: string): void {
  if (existsSync(file)) writeFileSync(file, value)
}

function numberOf(text: string): number | null {
  return /^\d+$/.test(text) ? Number(text) : null
}

function ratio(part: number | null, whole: number | null): number | null {
  return part === null || whole === null ? null : part / whole
}
