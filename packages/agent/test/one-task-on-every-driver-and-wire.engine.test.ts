/** `agent run` from the task to the answer: a read, an edit and a command, on each driver and each wire. */
import assert from 'node:assert/strict'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { geteuid } from 'node:process'
import { agentEvent } from '@beige/protocol'
import { type StepInput, type Turn, taskScript, type WireName } from '@beige/test-support'
import { compile } from '@earendil-works/pi-schema'
import { agentBench, CANARY, eventsOf } from './agent-bench.ts'
import { type Driver, testOnDrivers } from './machine.ts'

const WIRES: readonly WireName[] = ['anthropic', 'openai-chat', 'openai-responses']
const isEvent = compile(agentEvent).check
// What a kernel may show in every new network namespace, none of it up.
const IDLE_DEVICES = /^(?:lo|sit0|tunl0|ip6tnl0|gre0|gretap0|erspan0|ip_vti0|ip6_vti0|ip6gre0)$/

/** Tells what a command can see and reach, one fact a line. */
const lookAround = (port: number) => `
echo "uid=$(id -u)"
echo "devices=$(sed -n 's/^ *\\([^: ]*\\):.*/\\1/p' /proc/net/dev | tr '\\n' ' ')"
(exec 3<>/dev/tcp/127.0.0.1/${port}) 2>/dev/null && echo "host=reached" || echo "host=closed"
env | sed 's/^/env: /'
echo made > made.txt`

async function worksOnWire(driver: Driver, wire: WireName): Promise<void> {
  const facts: string[] = []
  let port = 0
  const script = taskScript([
    { text: 'I look first.', calls: [{ name: 'read', input: { path: 'greeting.txt' } }] },
    ({ lastResult }: StepInput): Turn => {
      facts.push(lastResult?.text ?? '')
      return {
        calls: [
          { name: 'edit', input: { path: 'greeting.txt', old_string: 'hello', new_string: 'good day' } },
        ],
      }
    },
    () => ({ calls: [{ name: 'bash', input: { command: lookAround(port) } }] }),
    ({ lastResult }: StepInput): Turn => {
      facts.push(lastResult?.text ?? '')
      return { text: 'It greets well now.' }
    },
  ])
  await using bench = await agentBench(script, wire)
  port = bench.server.port
  bench.write('greeting.txt', 'hello world\n')
  const owner = statSync(bench.workspace).uid

  const { code, stdout, stderr } = await bench.agent(['run', '--json', '--sandbox', driver, 'make it polite'])

  assert.equal(code, 0, stderr)
  assert.deepEqual(bench.server.refusals, [])
  assert.ok(bench.seen.every(request => request.wire === wire))
  const [read = '', saw = ''] = facts
  assert.match(read, /hello world/)
  assert.equal(readFileSync(join(bench.workspace, 'greeting.txt'), 'utf8'), 'good day world\n')
  for (const name of ['greeting.txt', 'made.txt'])
    assert.equal(statSync(join(bench.workspace, name)).uid, owner, `${name} is the agent's`)
  if (geteuid?.() === 0) assert.notEqual(owner, 0)
  assert.match(saw, new RegExp(`^uid=${owner}$`, 'm'))
  const devices = /^devices=(.*)$/m.exec(saw)?.[1]?.trim().split(' ') ?? []
  assert.ok(devices.length > 0 && devices.every(name => IDLE_DEVICES.test(name)), devices.join(' '))
  assert.match(saw, /^host=closed$/m)
  assert.match(saw, /^env: PATH=/m)
  assert.ok(!saw.includes(CANARY), saw)

  const [head, ...events] = stdout
    .trimEnd()
    .split('\n')
    .map((line): unknown => JSON.parse(line))
  assert.ok(typeof head === 'object' && head !== null && Reflect.get(head, 'kind') === 'session')
  for (const event of events) assert.ok(isEvent(event), JSON.stringify(event))
  const seqs = events.map(event => Number(Reflect.get(Object(event), 'seq')))
  assert.ok(
    seqs.every((seq, index) => index === 0 || seq > (seqs[index - 1] ?? seq)),
    'numbers grow',
  )
  assert.equal(eventsOf(stdout, 'agent_end')[0]?.outcome, 'done')
  assert.deepEqual(bench.sandboxesLeft(), [], 'the sandbox ended with the run')
}

for (const wire of WIRES)
  testOnDrivers(`a read, an edit and a command over ${wire}`, driver => worksOnWire(driver, wire))
