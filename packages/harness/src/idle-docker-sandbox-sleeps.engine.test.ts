/** An idle container is paused and woken by the next call; one that was stopped is started again on the same workspace. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chmodSync } from 'node:fs'
import { dirname } from 'node:path'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { openDriver } from '@beige/sandbox'
import { manualClock } from '@beige/test-support'
import { dockerAbsence, ownSpec } from '../test/machine.ts'
import { type SandboxHands, sandboxHands } from './hands.ts'

const PAUSE_MS = 600_000
const TEST_MS = 60_000
const skip = await dockerAbsence()

type Bench = { hands: SandboxHands; container: string; idle(): Promise<void>; signal: AbortSignal }

function sleepTest(title: string, body: (bench: Bench) => Promise<void>): void {
  test(title, { skip, timeout: TEST_MS }, async () => {
    using own = ownSpec()
    chmodSync(dirname(own.spec.runDir), 0o711) // the agent's user goes through it
    const clock = manualClock()
    const hands = sandboxHands(async () => openDriver({ kind: 'docker' }), own.spec, {
      clock,
      idlePauseMs: PAUSE_MS,
    })
    const signal = AbortSignal.timeout(TEST_MS)
    // The clock moves on when somebody waits for it: after a call has ended.
    const idle = async () => {
      while (clock.sleepers() === 0) {
        signal.throwIfAborted()
        await pause(1)
      }
      clock.advance(PAUSE_MS)
    }
    try {
      await hands.open(signal)
      await body({ hands, container: `beige-${own.spec.id}`, idle, signal })
    } finally {
      await hands.close()
    }
  })
}

const status = (container: string) =>
  execFileSync('docker', ['inspect', '--format', '{{.State.Status}}', container], { encoding: 'utf8' }).trim()

async function reaches(container: string, wanted: string, signal: AbortSignal): Promise<void> {
  while (status(container) !== wanted) {
    signal.throwIfAborted()
    await pause(10)
  }
}

async function sh(hands: SandboxHands, script: string, signal: AbortSignal): Promise<string> {
  const { exec } = await hands.open(signal)
  const { stdout } = await exec.run({ command: 'sh', args: ['-c', script] }, signal)
  return Buffer.from(stdout).toString('utf8')
}

sleepTest(
  'paused when idle, woken by a call with all as it was',
  async ({ hands, container, idle, signal }) => {
    const { exec, generation } = await hands.open(signal)
    await sh(hands, 'echo kept > /tmp/kept', signal)
    await idle()
    await reaches(container, 'paused', signal)
    assert.equal(await sh(hands, 'cat /tmp/kept', signal), 'kept\n')
    assert.equal(status(container), 'running')
    assert.equal((await hands.open(signal)).generation, generation)

    // Also by a call of somebody who had opened it before, and by many at once.
    await idle()
    await reaches(container, 'paused', signal)
    const all = await Promise.all(Array.from({ length: 8 }, () => exec.stat('/tmp/kept', signal)))
    assert.deepEqual([...new Set(all.map(one => one.kind))], ['file'])
  },
)

sleepTest('a job that nobody watches keeps it awake', async ({ hands, container, idle, signal }) => {
  const { exec } = await hands.open(signal)
  const job = { scope: 'session', id: 'work', keep: true }
  const letGo = new AbortController()
  const started = Promise.withResolvers<void>()
  const following = exec.startJob(
    { command: 'sleep', args: ['1000'] },
    job,
    { onStart: started.resolve, onChunk: () => {} },
    letGo.signal,
  )
  await started.promise
  letGo.abort()
  await assert.rejects(following)
  await idle()
  await idle() // it has looked, and waits again
  assert.equal(status(container), 'running')
  await exec.killJob(job, signal)
  await idle()
  await reaches(container, 'paused', signal)
})

sleepTest('one that was stopped is started again', async ({ hands, container, signal }) => {
  const { generation } = await hands.open(signal)
  await sh(hands, 'echo kept > /workspace/kept; mkdir -p /workspace/a/b', signal)
  execFileSync('docker', ['stop', '--time', '1', container], { stdio: 'ignore' })
  assert.equal(await sh(hands, 'cat kept; ls a', signal), 'kept\nb\n')
  assert.notEqual((await hands.open(signal)).generation, generation)
})

sleepTest(
  'one that was stopped while it slept is started again',
  async ({ hands, container, idle, signal }) => {
    await sh(hands, 'echo kept > /workspace/kept', signal)
    await idle()
    await reaches(container, 'paused', signal)
    execFileSync('docker', ['kill', container], { stdio: 'ignore' })
    assert.equal(await sh(hands, 'cat kept', signal), 'kept\n')
  },
)
