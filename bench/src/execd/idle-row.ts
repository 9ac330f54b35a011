/** Row `idle`: memory, wakeups and size of an execd that has worked and has nothing to do. */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import type { Row } from '../bench.ts'
import { memoryOf } from '../process-memory.ts'
import { startBareExecd } from './bare-execd.ts'

const SETTLE_MS = 2000 // it gives memory back a second after the last request
const WATCH_MS = 10_000
const KB = 1000

export async function idleRow(signal: AbortSignal): Promise<Row> {
  await using execd = await startBareExecd(signal)
  for (let call = 0; call < 20; call += 1)
    await execd.exec.run({ command: '/bin/echo', args: ['ok'] }, signal)
  await pause(SETTLE_MS, undefined, { signal })
  const before = wakeupsOf(execd.pid)
  await pause(WATCH_MS, undefined, { signal })
  return {
    name: 'idle',
    pss_kb: Math.round(memoryOf([execd.pid], true).pssMb * 1024),
    wakeups_10s: wakeupsOf(execd.pid) - before,
    binary_kb: Math.ceil(statSync(execd.binary).size / KB),
  }
}

/** How often any of its threads was given the processor. */
function wakeupsOf(pid: number): number {
  let sum = 0
  for (const task of readdirSync(`/proc/${pid}/task`)) {
    const status = readFileSync(`/proc/${pid}/task/${task}/status`, 'utf8')
    for (const [, count] of status.matchAll(/ctxt_switches:\s+(\d+)/g)) sum += Number(count)
  }
  return sum
}
