/**
 * `kill -9` of `agent` at named and at random moments. Its successor finds every record that was said to be committed,
 * sends the provider a history that it takes, and tells the model of a call whose outcome nobody knows.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { test } from 'node:test'
import { isSessionId, systemClock, systemRandom } from '@beige/protocol'
import { createFilesStore } from '@beige/sessions'
import { lastPrompt, type SeenRequest, type Step, type Turn, taskScript } from '@beige/test-support'
import { type AgentBench, type AgentChild, agentBench, eventsOf } from './agent-bench.ts'
import { ABSENT, processesWith, SOME_DRIVER, testOnDrivers, until } from './machine.ts'

const KILLS = 15
const AT_ONCE = 5 // each waits 3 s to see that its last owner is gone
const seed = Number(process.env.TEST_SEED ?? randomBytes(4).readUInt32LE(0))

/** Answers `go on` at once, and every other prompt with the task. */
function taskThenGoOn(steps: readonly Step[]): (request: SeenRequest) => Turn {
  const task = taskScript(steps)
  return request => (lastPrompt(request).includes('go on') ? { text: 'went on' } : task(request))
}

const SESSION = 's_killed'
const taskArgs = (id: string, ...more: string[]) =>
  ['run', '--json', '--sandbox', SOME_DRIVER, '--session-id', id, ...more] as const

/** What a client was told is kept: kind and id of every record that a `committed` event named. */
function committedIn(stdout: string): { seq: number; id: string }[] {
  const whole = stdout.slice(0, stdout.lastIndexOf('\n') + 1)
  return eventsOf(whole, 'committed').map(event => ({
    seq: Number(event.record_seq),
    id: String(event.entry_id),
  }))
}

async function recordsOf(bench: AgentBench, id: string) {
  assert.ok(isSessionId(id))
  const root = join(bench.home, 'sessions')
  const store = createFilesStore({ root, clock: systemClock, random: systemRandom })
  try {
    return await store.read(id)
  } finally {
    await store.close()
  }
}

async function assertKept(bench: AgentBench, id: string, stdout: string): Promise<void> {
  const records = await recordsOf(bench, id)
  for (const { seq, id: entry } of committedIn(stdout)) {
    const record = records.find(one => one.seq === seq)
    assert.ok(record, `record ${seq} is there`)
    assert.ok(Object.values(record).includes(entry), `record ${seq} is the one that was told of`)
  }
}

async function killed(child: AgentChild): Promise<string> {
  child.process.kill('SIGKILL')
  const { signal, stdout } = await child.ended
  assert.equal(signal, 'SIGKILL')
  return stdout
}

async function goesOn(bench: AgentBench, id: string, before: string): Promise<SeenRequest> {
  const asked = bench.seen.length
  const { code, stdout, stderr } = await bench.agent([...taskArgs(id), 'go on'])
  assert.equal(code, 0, stderr)
  assert.deepEqual(bench.server.refusals, [])
  await assertKept(bench, id, before)
  await assertKept(bench, id, stdout)
  const request = bench.seen[asked]
  assert.ok(request, 'the model was asked')
  return request
}

const resultsOf = (request: SeenRequest) =>
  request.messages.flatMap(message => message.results.map(result => result.text))

testOnDrivers('H07: killed while a tool runs', async driver => {
  const seconds = `1000.${randomBytes(6).readUIntBE(0, 6)}`
  const input = { command: `echo begun > begun.txt; setsid sleep ${seconds} & sleep ${seconds}` }
  await using bench = await agentBench(taskThenGoOn([{ text: 'I sleep.', calls: [{ name: 'bash', input }] }]))
  const child = bench.start([...taskArgs(SESSION), '--sandbox', driver, 'sleep'])
  await until(() => processesWith(seconds).length >= 2, 'both sleeps run')
  const before = await killed(child)
  assert.ok(processesWith(seconds).length >= 2, 'a killed agent kills nothing')
  const request = await goesOn(bench, SESSION, before)
  assert.match(resultsOf(request).join('\n'), /outcome unknown.* or still run: it is job 1/)
  assert.deepEqual(processesWith(seconds), [], 'it ended with the sandbox')
  assert.match(request.messages.map(message => message.text).join('\n'), /I sleep\./)
  const finished = (await recordsOf(bench, SESSION)).find(record => record.type === 'tool_finished')
  assert.equal(finished?.type === 'tool_finished' && finished.outcome, 'unknown')
  assert.deepEqual(bench.sandboxesLeft(), [], 'the sandbox of the killed one has ended too')
})

test('H07: killed while the model streams', async () => {
  const fault = { kind: 'silence', afterEvents: 4 } as const
  await using bench = await agentBench(taskThenGoOn([{ text: 'A long story '.repeat(40), fault }]))
  const child = bench.start([...taskArgs(SESSION), 'tell'])
  await child.frame({ kind: 'stream', type: 'text_delta' })
  const request = await goesOn(bench, SESSION, await killed(child))
  assert.match(lastPrompt(request), /go on/)
  assert.match(request.messages.map(message => message.text).join('\n'), /tell/)
})

test('H07: killed right after the ack of its prompt', async () => {
  await using bench = await agentBench(taskThenGoOn([{ text: 'done' }]))
  const child = bench.start(['serve', '--session-id', SESSION])
  child.send({ type: 'prompt', id: '1', message: 'remember me' })
  await child.frame({ type: 'ack', id: '1' })
  await killed(child)
  const prompts = (await recordsOf(bench, SESSION)).filter(record => record.type === 'prompt')
  assert.equal(prompts.length, 1)
  const request = await goesOn(bench, SESSION, '')
  assert.match(request.messages.map(message => message.text).join('\n'), /remember me/)
})

const STEPS: readonly Step[] = [
  { text: 'I count.', calls: [{ name: 'bash', input: { command: 'echo one >> count.txt; echo counted' } }] },
  {
    calls: [
      { name: 'read', input: { path: 'count.txt' } },
      { name: 'bash', input: { command: 'echo two >> count.txt; sleep 0.05' } },
    ],
  },
  { thinking: 'Hm.', calls: [{ name: 'write', input: { path: 'note.txt', content: 'noted\n' } }] },
  { text: 'Counted.' },
]

test('--resume goes on with the run that was cut off', { skip: ABSENT[SOME_DRIVER] }, async () => {
  await using bench = await agentBench(taskThenGoOn(STEPS))
  const child = bench.start([...taskArgs(SESSION), 'count'])
  await child.frame({ kind: 'tool_end', name: 'bash' })
  const before = await killed(child)
  const { code, stdout, stderr } = await bench.agent([...taskArgs(SESSION, '--resume')])
  assert.equal(code, 0, stderr)
  assert.equal(eventsOf(stdout, 'agent_start')[0]?.resumed, true)
  assert.equal(eventsOf(stdout, 'agent_end')[0]?.outcome, 'done')
  assert.deepEqual(bench.server.refusals, [])
  await assertKept(bench, SESSION, before)
  const types = (await recordsOf(bench, SESSION)).map(record => record.type)
  assert.equal(types.filter(type => type === 'prompt').length, 1)
  assert.equal(types.filter(type => type === 'run_end').length, 1)
  const again = await bench.agent(['run', '--session-id', SESSION, '--resume'])
  assert.equal(again.code, 2)
  assert.match(again.stderr, /no run that was cut off/)
})

test('the same --idempotency-key goes on with the cut run, then repeats its answer', async () => {
  await using bench = await agentBench(taskThenGoOn(STEPS))
  const args = ['run', '--session-id', SESSION, '--idempotency-key', 'k1', '--sandbox', SOME_DRIVER, 'count']
  const child = bench.start(args)
  await bench.server.request(2)
  await killed(child)
  const second = await bench.agent(args)
  assert.equal(second.stdout, 'Counted.\n', second.stderr)
  const asked = bench.seen.length
  const third = await bench.agent(args)
  assert.equal(third.stdout, 'Counted.\n', third.stderr)
  assert.equal(bench.seen.length, asked, 'the model was not asked again')
  const prompts = (await recordsOf(bench, SESSION)).filter(record => record.type === 'prompt')
  assert.equal(prompts.length, 1)
})

test(`H07: killed at ${KILLS} random moments (TEST_SEED=${seed})`, {
  skip: ABSENT[SOME_DRIVER],
}, async () => {
  await using bench = await agentBench(taskThenGoOn(STEPS))
  const random = mulberry32(seed)
  const whole = await bench.agent([...taskArgs('s_whole'), 'count'])
  const lines = whole.stdout.trimEnd().split('\n').length
  const moments = Array.from({ length: KILLS }, (_one, index) => ({
    id: `s_random-${index}`,
    line: 1 + Math.floor(random() * lines),
    resume: random() < 0.4,
  }))
  const next = moments[Symbol.iterator]()
  const worker = async () => {
    for (const { id, line, resume } of next) {
      const child = bench.start([...taskArgs(id), 'count'])
      await child.lines(line)
      child.process.kill('SIGKILL')
      const before = (await child.ended).stdout
      const how = `TEST_SEED=${seed}: ${id} killed at line ${line} of ${lines}`
      if (resume && !before.includes('"agent_end"')) {
        const { code, stderr } = await bench.agent([...taskArgs(id, '--resume')])
        // Where nothing but the session was durable, or all of it, there is no run to go on with.
        assert.ok(code === 0 || (code === 2 && /no run that was cut off/.test(stderr)), `${how}: ${stderr}`)
      }
      await goesOn(bench, id, before).catch(error => {
        throw new Error(how, { cause: error })
      })
      const records = await recordsOf(bench, id)
      const count = (type: string) => records.filter(record => record.type === type).length
      assert.equal(count('prompt'), count('run_end'), `${how}: every run has an end`)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  assert.deepEqual(bench.sandboxesLeft(), [])
})

/** A small random generator that a number starts. */
function mulberry32(start: number): () => number {
  let state = start
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
}
