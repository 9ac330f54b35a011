/** Measures a server: how soon it is ready, and what it weighs when it then has nothing to do. */
import { setTimeout as settle } from 'node:timers/promises'
import { type Memory, memoryOf, treeOf } from '../process-memory.ts'
import { type Probe, startupRow } from './probe.ts'
import type { Launch } from './program.ts'
import { type Started, start } from './started.ts'

const SETTLE_MS = 1000 // what a start leaves to be collected and closed is gone by then

export function idleProbe(
  name: string,
  launch: Launch,
  home: string,
  ready: (started: Started) => Promise<void>,
): Probe {
  const timesMs: number[] = []
  const weights: Memory[] = []
  return {
    name,
    async time() {
      await using started = start(launch, home)
      await whenReady(started, ready)
      timesMs.push(performance.timeOrigin + performance.now() - started.startedEpochMs)
    },
    async weigh() {
      await using started = start(launch, home)
      await whenReady(started, ready)
      await settle(SETTLE_MS)
      weights.push(memoryOf(treeOf(started.pid), true))
    },
    rows: () => [startupRow(name, timesMs, weights)],
  }
}

async function whenReady(started: Started, ready: (started: Started) => Promise<void>): Promise<void> {
  const early = started.ended.then(({ code, stderr }) => {
    throw new Error(`it ended with ${code} before it was ready: ${stderr}`.trim())
  })
  await Promise.race([ready(started), early])
}

/** `agent serve` over stdio is ready when it answers a command. */
export async function stdioAnswers({ child }: Started): Promise<void> {
  child.stdin.write('{"type":"get_state","id":"1"}\n')
  await new Promise(resolve => child.stdout.once('data', resolve))
}
