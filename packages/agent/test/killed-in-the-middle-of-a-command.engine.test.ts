/**
 * `kill -9` of `agent` in the middle of a command, on every driver: the command goes on without it, and whoever takes over
 * joins it. It ran once, and its whole output is there.
 */
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Step, taskScript } from '@beige/test-support'
import { type AgentBench, type AgentChild, agentBench, eventsOf } from './agent-bench.ts'
import { type Driver, testOnDrivers, until } from './machine.ts'

/** Appends a line to the ledger, then waits until the test lets it go on. */
const COMMAND =
  'echo begun; echo line >> ledger; while [ ! -e go ]; do sleep 0.02; done; echo ended; echo > end'
const calls = (command: string, more = {}): Step => ({
  calls: [{ name: 'bash', input: { command, ...more } }],
})
const SCRIPT = taskScript([calls(COMMAND), { text: 'The ledger has its line.' }])

const args = (driver: Driver, ...more: string[]) =>
  ['run', '--json', '--sandbox', driver, '--session-id', 's_ledger', ...more] as const
const ledger = ({ workspace }: AgentBench) => readFileSync(join(workspace, 'ledger'), 'utf8')
const there = ({ workspace }: AgentBench, file: string) => existsSync(join(workspace, file))

async function killedMidCommand(bench: AgentBench, driver: Driver): Promise<void> {
  const child: AgentChild = bench.start([...args(driver), 'write the ledger'])
  await until(() => there(bench, 'ledger'), `the command runs: ${child.stderr()}`)
  child.process.kill('SIGKILL')
  assert.equal((await child.ended).signal, 'SIGKILL')
}

function assertDone(bench: AgentBench, stdout: string): void {
  assert.equal(eventsOf(stdout, 'agent_start')[0]?.resumed, true)
  const [end] = eventsOf(stdout, 'tool_end')
  assert.deepEqual([end?.outcome, end?.is_error], ['done', false])
  assert.equal(eventsOf(stdout, 'agent_end')[0]?.outcome, 'done')
  assert.equal(ledger(bench), 'line\n', 'the command ran once')
  const results = bench.seen.at(-1)?.messages.flatMap(message => message.results) ?? []
  assert.deepEqual(
    results.map(result => result.text),
    ['begun\nended'],
    'the whole output, also what it said to the one that was killed',
  )
  assert.deepEqual(bench.server.refusals, [])
  assert.deepEqual(bench.sandboxesLeft(), [])
}

testOnDrivers('a command whose agent was killed is joined while it runs', async driver => {
  await using bench = await agentBench(SCRIPT)
  await killedMidCommand(bench, driver)
  const next = bench.start(args(driver, '--resume'))
  await next.frame({ kind: 'tool_progress', name: 'bash' })
  bench.write('go', '')
  const { code, stdout, stderr } = await next.ended
  assert.equal(code, 0, stderr)
  assertDone(bench, stdout)
})

testOnDrivers(
  'a command that ended while nobody was there gives its result to the next owner',
  async driver => {
    await using bench = await agentBench(SCRIPT)
    await killedMidCommand(bench, driver)
    bench.write('go', '')
    await until(() => there(bench, 'end'), 'it goes on without its agent')
    const { code, stdout, stderr } = await bench.agent(args(driver, '--resume'))
    assert.equal(code, 0, stderr)
    assertDone(bench, stdout)
  },
)

testOnDrivers('a command whose sandbox is gone has an unknown outcome and is not repeated', async driver => {
  await using bench = await agentBench(SCRIPT)
  await killedMidCommand(bench, driver)
  await bench.endSandboxes()
  const { code, stdout, stderr } = await bench.agent(args(driver, '--resume'))
  assert.equal(code, 0, stderr)
  assert.equal(eventsOf(stdout, 'tool_end')[0]?.outcome, 'unknown')
  assert.equal(ledger(bench), 'line\n')
  const last = JSON.stringify(bench.seen.at(-1)?.messages)
  assert.match(last, /outcome unknown/)
  assert.match(last, /The sandbox is not the one that you left/)
})

testOnDrivers(
  'jobs end with the sandbox of `run`: a person is told, and the model in the next run',
  async driver => {
    const background = { run_in_background: true }
    await using bench = await agentBench(
      taskScript([calls('echo up; sleep 1000', background), { text: 'It runs.' }]),
    )
    const first = await bench.agent([...args(driver), 'start it'])
    assert.equal(first.code, 0, first.stderr)
    assert.match(first.stderr, /^job 1 \(echo up; sleep 1000\) has ended with its sandbox$/m)
    await bench.agent([...args(driver), 'and now?'])
    const request = bench.seen.find(one => JSON.stringify(one.messages).includes('and now?'))
    assert.match(JSON.stringify(request?.messages), /Background job 1 is gone: it was ended with its sandbox/)
  },
)
