/** Measures a server: how soon it is ready, and what it weighs when it then has nothing to do. */
import { setTimeout as pause } from 'node:timers/promises'
import { type Memory, memoryOf, treeOf } from '../process-memory.ts'
import { type Probe, startupRow } from './probe.ts'
import type { Launch } from './program.ts'
import { type Started, start } from './started.ts'

const SETTLE_MS = 1000 // what a start leaves to be collected and closed is gone by then
const POLL_MS = 5

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
      await pause(SETTLE_MS)
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

/** A gateway is ready when its HTTP API says so. */
export function httpIsReady(port: number): (started: Started) => Promise<void> {
  return async ({ ended }) => {
    let hasEnded = false
    ended.finally(() => {
      hasEnded = true
    })
    while (!hasEnded) {
      const answer = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => null)
      await answer?.body?.cancel()
      if (answer?.ok) return
      await pause(POLL_MS)
    }
  }
}
