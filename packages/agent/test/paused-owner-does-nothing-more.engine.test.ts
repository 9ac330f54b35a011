/**
 * `SIGSTOP` of `agent` in the middle of a command, until another one owns the session and works in its sandbox. When the
 * first goes on, it does nothing there any more: it neither starts, kills nor ends what is its successor's.
 */
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Step, taskScript } from '@beige/test-support'
import { agentBench } from './agent-bench.ts'
import { testOnDrivers, until } from './machine.ts'

const call = (command: string): Step => ({ calls: [{ name: 'bash', input: { command } }] })
const SCRIPT = taskScript([
  call('echo one >> ledger; while [ ! -e go ]; do sleep 0.02; done; echo went'),
  call('echo two >> ledger; while [ ! -e go2 ]; do sleep 0.02; done; echo went on'),
  { text: 'Both lines are there.' },
])

testOnDrivers('a paused owner that wakes leaves its successor alone', async driver => {
  await using bench = await agentBench(SCRIPT)
  const args = (...more: string[]) =>
    ['run', '--json', '--sandbox', driver, '--session-id', 's_paused', ...more] as const
  const ledger = () => readFileSync(join(bench.workspace, 'ledger'), 'utf8')
  const paused = bench.start(args('write the ledger'))
  await until(() => existsSync(join(bench.workspace, 'ledger')), `it runs: ${paused.stderr()}`)
  paused.process.kill('SIGSTOP')

  const next = bench.start(args('--resume'))
  await next.frame({ kind: 'agent_start', resumed: true })
  bench.write('go', '')
  await until(() => ledger() === 'one\ntwo\n', `the successor goes on: ${next.stderr()}`)

  paused.process.kill('SIGCONT')
  const { code } = await paused.ended
  assert.notEqual(code, 0)
  bench.write('go2', '')
  const end = await next.ended
  assert.equal(end.code, 0, end.stderr)
  assert.equal(ledger(), 'one\ntwo\n')
  const results = bench.seen.at(-1)?.messages.flatMap(message => message.results) ?? []
  assert.deepEqual(
    results.map(result => result.text),
    ['went', 'went on'],
  )
  assert.deepEqual(bench.sandboxesLeft(), [])
})
