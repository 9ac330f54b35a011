import assert from 'node:assert/strict'
import { test } from 'node:test'
import { taskScript } from '@beige/test-support'
import { countTool, runBench, typesOf, WIRES } from '../test/run-bench.ts'
import { closeRun } from './resume.ts'
import { run } from './run.ts'

const never = new AbortController().signal
const callTo = (...numbers: number[]) => ({ calls: numbers.map(to => ({ name: 'count', input: { to } })) })

for (const wire of WIRES) {
  test(`${wire}: a run asks, calls, and ends; each step is durable before the next`, async () => {
    await using bench = await runBench(taskScript([callTo(1, 2), callTo(3), { text: 'three turns' }]), wire)
    const session = await bench.session()
    const runId = await bench.prompt(session, 'count')
    const calls: number[] = []
    const result = await run(await bench.parts(session, runId, [countTool(calls)]), never)
    assert.deepEqual([result.outcome, result.text, result.steps], ['done', 'three turns', 3])
    assert.deepEqual(calls, [1, 2, 3])
    assert.deepEqual(bench.server.refusals, [])
    const types = typesOf(session.log.records)
    assert.deepEqual(types.slice(0, 3), ['session', 'prompt', 'message'])
    assert.deepEqual(types.slice(-2), ['message', 'run_end'])
    for (const [index, record] of session.log.records.entries()) {
      if (record.type !== 'tool_finished') continue
      const started = session.log.records.findIndex(
        one => one.type === 'tool_started' && one.call_id === record.call_id,
      )
      assert.ok(started >= 0 && started < index, 'H19: no call ran without a durable tool_started')
    }
    assert.equal(bench.events.at(0)?.kind, 'agent_start')
    assert.equal(bench.events.at(-1)?.kind, 'agent_end')
  })
}

test('a tool call that was running when its owner died is told as unknown, not repeated', async () => {
  await using bench = await runBench(taskScript([callTo(1), { text: 'I looked' }]))
  const died = await bench.session()
  const runId = await bench.prompt(died, 'count')
  const hangs = countTool([], { run: () => new Promise(() => {}) })
  const parts = await bench.parts(died, runId, [hangs])
  void run(parts, never) // its process dies here: nothing of it goes on, nobody waits for it
  await waitFor(() => typesOf(died.log.records).includes('tool_started'))

  const session = await bench.session()
  const calls: number[] = []
  const result = await run(
    { ...(await bench.parts(session, runId, [countTool(calls)])), resumed: true },
    never,
  )
  assert.equal(result.outcome, 'done')
  assert.deepEqual(calls, [])
  assert.match(JSON.stringify(bench.seen.at(-1)?.messages), /outcome unknown/)
  assert.deepEqual(bench.server.refusals, [])
})

test('an idempotent call is repeated by the next owner', async () => {
  await using bench = await runBench(taskScript([callTo(7), { text: 'ok' }]))
  const died = await bench.session()
  const runId = await bench.prompt(died, 'count')
  const hangs = countTool([], { idempotent: true, run: () => new Promise(() => {}) })
  void run(await bench.parts(died, runId, [hangs]), never)
  await waitFor(() => typesOf(died.log.records).includes('tool_started'))
  const session = await bench.session()
  const calls: number[] = []
  await run(await bench.parts(session, runId, [countTool(calls, { idempotent: true })]), never)
  assert.deepEqual(calls, [7])
})

const JOB = { scope: 's_test', id: 'job-1', instance: 'one' }
for (const [title, begins, outcome] of [
  ['before it began is run again', false, [null]],
  ['after it began as a job is joined', JOB, [JOB]],
  ['after it began without a job has an unknown outcome', null, []],
] as const) {
  test(`a call that announces its effect and whose owner died ${title}`, async () => {
    await using bench = await runBench(taskScript([callTo(1), { text: 'ok' }]))
    const died = await bench.session()
    const runId = await bench.prompt(died, 'count')
    const reached = Promise.withResolvers<void>()
    const hangs = countTool([], {
      announces: true,
      run: async (_input, context) => {
        if (begins !== false) await context.begins(begins)
        reached.resolve()
        return await new Promise(() => {})
      },
    })
    void run(await bench.parts(died, runId, [hangs]), never)
    await reached.promise
    const session = await bench.session()
    const joined: unknown[] = []
    const next = countTool([], {
      announces: true,
      run: async (_input, { joins = null }) => {
        joined.push(joins)
        return { content: [{ type: 'text', text: 'ran' }], isError: false, outcome: 'done', details: {} }
      },
    })
    const events = bench.events.length
    await run({ ...(await bench.parts(session, runId, [next])), resumed: true }, never)
    assert.deepEqual(joined, outcome)
    const shown = bench.events.slice(events).map(event => event.kind)
    assert.ok(shown.indexOf('tool_start') < shown.indexOf('tool_end'), 'and it is shown')
    const end = bench.events.slice(events).find(event => event.kind === 'tool_end')
    assert.equal(end?.kind === 'tool_end' && end.outcome, outcome.length > 0 ? 'done' : 'unknown')
    assert.deepEqual(bench.server.refusals, [])
  })
}

test('a command that its owner left behind gets a number when its run is closed', async () => {
  await using bench = await runBench(taskScript([callTo(1), { text: 'ok' }]))
  const died = await bench.session()
  const runId = await bench.prompt(died, 'count')
  const reached = Promise.withResolvers<void>()
  const hangs = countTool([], {
    announces: true,
    run: async (_input, context) => {
      await context.begins(JOB)
      reached.resolve()
      return await new Promise(() => {})
    },
  })
  void run(await bench.parts(died, runId, [hangs]), never)
  await reached.promise
  const session = await bench.session()
  await closeRun(session, runId)
  assert.deepEqual(
    [...session.notes().jobs.values()].map(({ number, id, instance, ended }) => [
      number,
      id,
      instance,
      ended,
    ]),
    [[1, 'job-1', 'one', null]],
  )
  const next = await bench.prompt(session, 'go on')
  await run(await bench.parts(session, next, [countTool([])]), never)
  assert.match(JSON.stringify(bench.seen.at(-1)?.messages), /outcome unknown.*still run: it is job 1/)
})

test('a run that is closed instead leaves a history that a provider takes', async () => {
  await using bench = await runBench(taskScript([callTo(1, 2), { text: 'ok' }]))
  const died = await bench.session()
  const runId = await bench.prompt(died, 'count')
  const hangs = countTool([], { mode: 'exclusive', run: () => new Promise(() => {}) })
  void run(await bench.parts(died, runId, [hangs]), never)
  await waitFor(() => typesOf(died.log.records).includes('tool_started'))
  const session = await bench.session()
  await closeRun(session, runId)
  assert.equal(session.state().openRun, null)
  const next = await bench.prompt(session, 'go on')
  const result = await run(await bench.parts(session, next, [countTool([])]), never)
  assert.equal(result.outcome, 'done')
  assert.deepEqual(bench.server.refusals, [])
})

test('a message that was cut off is discarded, not stored', async () => {
  await using bench = await runBench([
    { text: 'half of an answer', chunkChars: 4, fault: { kind: 'end', afterEvents: 6 } },
  ])
  const session = await bench.session()
  const result = await run(await bench.parts(session, await bench.prompt(session, 'hi'), []), never)
  assert.equal(result.outcome, 'failed')
  assert.ok(!typesOf(session.log.records).includes('message'))
  assert.ok(bench.events.some(event => event.kind === 'message_discarded'))
})

test('max steps ends the run as an error and keeps what was done', async () => {
  await using bench = await runBench(taskScript([callTo(1), callTo(2), callTo(3), { text: 'never' }]))
  const session = await bench.session()
  const calls: number[] = []
  const parts = await bench.parts(session, await bench.prompt(session, 'hi'), [countTool(calls)])
  const result = await run({ ...parts, maxSteps: 2 }, never)
  assert.deepEqual([result.outcome, result.error?.code], ['failed', 'max_steps'])
  assert.deepEqual(calls, [1, 2])
})

test('a name that nobody offered is answered with the nearest and the run goes on', async () => {
  await using bench = await runBench(taskScript([{ calls: [{ name: 'cout', input: {} }] }, { text: 'ok' }]))
  const session = await bench.session()
  const result = await run(
    await bench.parts(session, await bench.prompt(session, 'hi'), [countTool([])]),
    never,
  )
  assert.equal(result.outcome, 'done')
  assert.match(JSON.stringify(bench.seen.at(-1)?.messages), /did you mean count/)
})

test('arguments that are no JSON are answered as invalid input', async () => {
  const torn = { calls: [{ name: 'count', rawInput: '{"to": 1' }] }
  await using bench = await runBench(taskScript([torn, { text: 'ok' }]))
  const session = await bench.session()
  const calls: number[] = []
  const result = await run(
    await bench.parts(session, await bench.prompt(session, 'hi'), [countTool(calls)]),
    never,
  )
  assert.equal(result.outcome, 'done')
  assert.deepEqual(calls, [])
  assert.match(JSON.stringify(bench.seen.at(-1)?.messages), /invalid input for count/)
})

async function waitFor(condition: () => boolean): Promise<void> {
  const deadline = Date.now() + 10_000
  while (!condition()) {
    if (Date.now() > deadline) throw new Error('it did not come')
    await new Promise(resolve => setImmediate(resolve))
  }
}
