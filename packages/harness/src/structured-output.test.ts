import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isError, type RecordBody } from '@beige/protocol'
import { taskScript } from '@beige/test-support'
import { countTool, runBench, WIRES } from '../test/run-bench.ts'
import { run } from './run.ts'
import { checkOutputForm, type OutputForm, outputOf } from './structured-output.ts'

const never = new AbortController().signal
const SCHEMA = {
  type: 'object',
  properties: { sum: { type: 'integer' } },
  required: ['sum'],
  additionalProperties: false,
}
const given = (input: unknown) => ({ calls: [{ name: 'structured_output', input }] })

for (const wire of WIRES)
  test(`${wire}: what the model gives in the form is the run's output, and ends it`, async () => {
    await using bench = await runBench(
      taskScript([
        { calls: [{ name: 'count', input: { to: 2 } }] },
        given({ sum: 'two' }),
        given({ sum: 3 }),
      ]),
      wire,
    )
    const session = await bench.session()
    const runId = await bench.prompt(session, 'add', { schema: SCHEMA, description: 'the sum' })
    const result = await run(await bench.parts(session, runId, [countTool([])]), never)
    assert.deepEqual([result.outcome, result.error], ['done', null])
    assert.deepEqual(outputOf(session.state(), runId), { value: { sum: 3 } })
    assert.match(JSON.stringify(bench.seen.at(-1)?.messages), /invalid input for structured_output/)
    assert.deepEqual(bench.server.refusals, [])
  })

test('a form that is no object reaches the model as one, and the program as it asked', async () => {
  await using bench = await runBench(taskScript([given({ value: ['a', 'b'] })]))
  const session = await bench.session()
  const form = { schema: { type: 'array', items: { type: 'string' } } }
  const runId = await bench.prompt(session, 'list', form)
  await run(await bench.parts(session, runId, []), never)
  assert.deepEqual(outputOf(session.state(), runId), { value: ['a', 'b'] })
})

test('a model that stops without it is told twice, then the run has failed', async () => {
  await using bench = await runBench(
    taskScript([{ text: 'Done.' }, { text: 'Really.' }, { text: 'Believe me.' }]),
  )
  const session = await bench.session()
  const runId = await bench.prompt(session, 'add', { schema: SCHEMA })
  const result = await run(await bench.parts(session, runId, []), never)
  assert.deepEqual([result.outcome, result.error?.code, result.steps], ['failed', 'no_output', 3])
  assert.equal(outputOf(session.state(), runId), undefined)
  assert.deepEqual(bench.server.refusals, [])
})

test('property names that are keywords are none', () => {
  const properties = {
    type: { type: 'string' },
    $ref: { type: 'integer' },
    items: { type: ['null', 'array'] },
  }
  assert.doesNotThrow(() => checkOutputForm({ schema: { type: 'object', properties } }))
})

test('the next owner of a run finds what was given before its owner died', async () => {
  await using bench = await runBench(taskScript([given({ sum: 5 })]))
  const died = await bench.session()
  const runId = await bench.prompt(died, 'add', { schema: SCHEMA })
  const parts = await bench.parts(died, runId, [])
  const dies = {
    ...parts.session,
    append: async (...bodies: readonly RecordBody[]) => {
      if (bodies.some(body => body.type === 'run_end')) return new Promise<never>(() => {})
      return await died.append(...bodies)
    },
  }
  void run({ ...parts, session: dies }, never)
  while (!outputOf(died.state(), runId)) await new Promise(resolve => setTimeout(resolve, 5))
  const session = await bench.session()
  const result = await run({ ...(await bench.parts(session, runId, [])), resumed: true }, never)
  assert.deepEqual([result.outcome, outputOf(session.state(), runId)], ['done', { value: { sum: 5 } }])
})

for (const [title, schema, says] of [
  ['no object', 'integer', /no JSON object/],
  ['a reference elsewhere', { properties: { a: { $ref: 'https://example.com/a.json' } } }, /outside/],
  ['a file', { $ref: 'file:///etc/passwd' }, /outside/],
  ['an unknown type', { type: 'strnig' }, /strnig/],
  ['a bad pattern', { type: 'string', pattern: '(' }, /./],
] satisfies [string, OutputForm['schema'], RegExp][])
  test(`a schema that is ${title} can not be used`, () => {
    assert.throws(
      () => checkOutputForm({ schema }),
      error => isError(error, 'bad_schema') && says.test(error.message),
    )
  })
