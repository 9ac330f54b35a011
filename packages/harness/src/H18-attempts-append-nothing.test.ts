/** What a run makes of a model that does not answer: the log has one prompt and the answer, viewers are told the rest. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { countTool, runBench, typesOf, WIRES } from '../test/run-bench.ts'
import { run } from './run.ts'

const never = new AbortController().signal
const cut = { text: 'half of an answer', chunkChars: 4, fault: { kind: 'end', afterEvents: 6 } } as const
const overloaded = { fault: { kind: 'status', status: 529 } } as const

for (const wire of WIRES)
  test(`${wire}: a cut answer is withdrawn, its calls are not run, and another model answers`, async () => {
    const halfCall = {
      text: 'I will count',
      calls: [{ name: 'count', input: { to: 7 } }],
      chunkChars: 4,
      fault: { kind: 'end', afterEvents: wire === 'gemini' ? 4 : 5 }, // a call comes whole there
    } as const
    await using bench = await runBench([halfCall, { text: 'the whole answer' }], wire)
    const session = await bench.session()
    const calls: number[] = []
    const runId = await bench.prompt(session, 'hi')
    const result = await run(await bench.parts(session, runId, [countTool(calls)]), never)
    assert.deepEqual([result.outcome, result.text, calls], ['done', 'the whole answer', []])
    assert.deepEqual(typesOf(session.log.records), ['session', 'prompt', 'message', 'run_end'])
    assert.deepEqual(
      bench.seen.map(request => [request.model, request.messages.length]),
      [
        ['scripted', 1],
        ['second', 1],
      ],
    )
    const kinds = bench.events.map(event => (event.kind === 'stream' ? event.type : event.kind))
    const discarded = kinds.indexOf('message_discarded')
    assert.ok(kinds.indexOf('text_delta') < discarded, 'the first text before')
    assert.ok(kinds.indexOf('message_start', discarded) > discarded, 'a new message after')
    assert.equal(kinds.filter(kind => kind === 'message_discarded').length, 1)
    const switched = bench.events.find(event => event.kind === 'model_switched')
    assert.deepEqual(switched, {
      kind: 'model_switched',
      model: 'fake/second',
      previous: 'fake/scripted',
      cause: 'fallback',
      reason: 'fallback_error',
    })
    const answer = session.log.records.find(record => record.type === 'message')
    assert.equal(answer?.type === 'message' && answer.model?.id, 'second')
  })

test('nobody answers: every attempt that streamed is withdrawn once, and the error says who was asked', async () => {
  await using bench = await runBench([cut, overloaded, cut, overloaded, overloaded, overloaded])
  const session = await bench.session()
  const result = await run(await bench.parts(session, await bench.prompt(session, 'hi'), []), never)
  assert.equal(result.outcome, 'failed')
  assert.equal(bench.seen.length, 6)
  assert.match(result.error?.message ?? '', /fake\/scripted .*; fake\/second overloaded/)
  assert.deepEqual(
    bench.events.flatMap(event => (event.kind === 'message_discarded' ? [event.attempt] : [])),
    [1, 3],
  )
  assert.ok(!typesOf(session.log.records).includes('message'))
})

test('the next request of the run starts at the model that answered', async () => {
  const call = { calls: [{ name: 'count', input: { to: 1 } }] }
  await using bench = await runBench([overloaded, call, { text: 'ok' }])
  const session = await bench.session()
  const parts = await bench.parts(session, await bench.prompt(session, 'hi'), [countTool([])])
  assert.equal((await run(parts, never)).outcome, 'done')
  assert.deepEqual(
    bench.seen.map(request => request.model),
    ['scripted', 'second', 'second'],
  )
  assert.deepEqual(bench.server.refusals, [])
})
