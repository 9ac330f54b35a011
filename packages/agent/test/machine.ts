/** What this machine can run agents in. Absent drivers are skipped by name. */
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { messageOf } from '@beige/protocol'
import { findExecd, openDriver } from '@beige/sandbox'

export const DRIVERS = ['docker', 'bubblewrap'] as const
export type Driver = (typeof DRIVERS)[number]

const PROBE_MS = 20_000
const TEST_MS = 120_000
const POLL_MS = 10
const DEADLINE_MS = 30_000 // generous: it only says that a test hangs

async function absence(name: Driver): Promise<string | false> {
  try {
    findExecd()
  } catch (error) {
    return `absent: execd (${messageOf(error)})`
  }
  const fault = await openDriver({ kind: name }).unavailable(AbortSignal.timeout(PROBE_MS))
  return fault ? `absent: ${name} (${fault.reason})` : false
}
export const ABSENT: Readonly<Record<Driver, string | false>> = {
  docker: await absence('docker'),
  bubblewrap: await absence('bubblewrap'),
}

/** The same test on every driver that this machine has. */
export function testOnDrivers(title: string, body: (driver: Driver) => Promise<void>): void {
  for (const driver of DRIVERS)
    test(`${title} (${driver})`, { skip: ABSENT[driver], timeout: TEST_MS }, () => body(driver))
}

/** The first driver that is here, for what does not depend on which. */
export const SOME_DRIVER = DRIVERS.findLast(driver => ABSENT[driver] === false) ?? 'bubblewrap'

/** Numbers of the processes with `marker` among their arguments; those of other namespaces are seen from the host. */
export function processesWith(marker: string): number[] {
  return readdirSync('/proc').flatMap(name => {
    if (!/^\d+$/.test(name) || Number(name) === process.pid) return []
    try {
      const args = readFileSync(`/proc/${name}/cmdline`, 'latin1').split('\0')
      return args.includes(marker) ? [Number(name)] : []
    } catch {
      return [] // it has just ended
    }
  })
}

/** Waits until `holds`: nothing tells what happens in a process of somebody else. */
export async function until(holds: () => boolean, what: string): Promise<void> {
  const end = performance.now() + DEADLINE_MS
  while (!holds()) {
    if (performance.now() > end) throw new Error(`it did not come to pass: ${what}`)
    await pause(POLL_MS)
  }
}
