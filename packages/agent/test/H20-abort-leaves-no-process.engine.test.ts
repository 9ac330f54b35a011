/** Whoever stops the command, and however: nothing of it runs afterwards, and it says so only then. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { taskScript } from '@beige/test-support'
import { type AgentBench, type AgentChild, agentBench } from './agent-bench.ts'
import { ABSENT, processesWith, SOME_DRIVER, testOnDrivers, until } from './machine.ts'

/** An argument of `sleep` that no other process on the machine has. */
const uniqueSeconds = () => `1000.${randomBytes(6).readUIntBE(0, 6)}`

type Way = {
  name: string
  args: readonly string[]
  begin?: (child: AgentChild) => Promise<void>
  stop: (child: AgentChild) => Promise<void>
  exitCode: number
}

const serve = {
  args: ['serve'],
  begin: async (child: AgentChild) => child.send({ type: 'prompt', id: 'p', message: 'sleep' }),
}
const WAYS: readonly Way[] = [
  ...(['SIGINT', 'SIGTERM', 'SIGHUP'] as const).map(
    (signal, index): Way => ({
      name: `${signal} to run`,
      args: ['run', 'sleep'],
      stop: async child => void child.process.kill(signal),
      exitCode: [130, 143, 129][index] ?? -1,
    }),
  ),
  {
    // As npm and `timeout` do it: they pass on what the whole group has had already.
    name: 'SIGTERM and its echo to run',
    args: ['run', 'sleep'],
    stop: async child => {
      child.process.kill('SIGTERM')
      await setTimeout(5)
      child.process.kill('SIGTERM')
    },
    exitCode: 143,
  },
  {
    ...serve,
    name: 'the client of serve closes',
    stop: async child => void child.process.stdin.end(),
    exitCode: 0,
  },
  {
    ...serve,
    name: 'nobody reads what serve says',
    stop: async child => {
      child.process.stdout.destroy()
      child.send({ type: 'ping' })
    },
    exitCode: 0,
  },
  {
    ...serve,
    name: 'the abort command',
    stop: async child => {
      child.send({ type: 'abort', id: 'a' })
      await child.frame({ type: 'response', id: 'a' })
      const answer = await child.frame({ type: 'response', id: 'p' })
      assert.equal(answer.code, 'aborted')
    },
    exitCode: 0,
  },
]

async function started(bench: AgentBench, way: Way, driver: string, seconds: string): Promise<AgentChild> {
  const child = bench.start([...way.args, '--sandbox', driver])
  await way.begin?.(child)
  await until(() => processesWith(seconds).length >= 2, `both sleeps run: ${child.stderr()}`)
  return child
}

for (const way of WAYS)
  testOnDrivers(`H20: ${way.name}`, async driver => {
    const seconds = uniqueSeconds()
    const command = `setsid sleep ${seconds} & sleep ${seconds}`
    await using bench = await agentBench(taskScript([{ calls: [{ name: 'bash', input: { command } }] }]))
    const child = await started(bench, way, driver, seconds)
    await way.stop(child)
    if (way.name === 'the abort command') {
      assert.deepEqual(processesWith(seconds), [], 'gone when the abort is answered')
      child.process.stdin.end()
    }
    const { code, stderr } = await child.ended
    assert.deepEqual(processesWith(seconds), [])
    assert.equal(code, way.exitCode, stderr)
    if (way.args[0] === 'run') {
      assert.match(stderr, /Stopped; nothing is left running\./)
      assert.match(stderr, /agent run --session-id s_\w+/)
    }
    assert.deepEqual(bench.sandboxesLeft(), [])
  })

test('H20: the reader of --json goes away', { skip: ABSENT[SOME_DRIVER] }, async () => {
  const seconds = uniqueSeconds()
  const input = { command: `setsid sleep ${seconds} & sleep ${seconds}` }
  await using bench = await agentBench(taskScript([{ text: 'Now.', calls: [{ name: 'bash', input }] }]))
  const child = bench.start(['run', '--json', '--sandbox', SOME_DRIVER, 'sleep'])
  await until(() => processesWith(seconds).length >= 2, 'both sleeps run')
  child.process.stdout.destroy()
  // What it says next finds nobody: the interrupted call's end at the latest.
  for (const pid of processesWith(seconds)) process.kill(pid)
  const { code, stderr } = await child.ended
  assert.equal(code, 0, stderr)
  assert.deepEqual(bench.sandboxesLeft(), [])
})

test('stdout closed by `head` is no failure', { skip: ABSENT[SOME_DRIVER] }, async () => {
  await using bench = await agentBench(taskScript([{ text: 'one\ntwo\n'.repeat(20_000) }]))
  const line = `"$@" | head -1; echo "\${PIPESTATUS[0]}"`
  const { workspace: cwd, env, argv } = bench
  const shell = spawn('bash', ['-c', line, 'bash', ...argv, 'run', '--json', 'go'], { cwd, env })
  const stdout = await text(shell.stdout)
  const [first = '', code] = stdout.trimEnd().split('\n')
  assert.match(first, /^\{"kind":"session"/)
  assert.equal(code, '0')
})
