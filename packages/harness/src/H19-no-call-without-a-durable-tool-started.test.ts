import assert from 'node:assert/strict'
import { test } from 'node:test'
import { taskScript } from '@beige/test-support'
import { countTool, runBench } from '../test/run-bench.ts'
import { run } from './run.ts'

const never = new AbortController().signal

test('the record is in the log when the tool begins', async () => {
  await using bench = await runBench(
    taskScript([{ calls: [{ name: 'count', input: { to: 1 } }] }, { text: 'ok' }]),
  )
  const session = await bench.session()
  let seen: string[] = []
  const looks = countTool([], {
    run: async () => {
      seen = session.log.records.map(record => record.type)
      return { content: [{ type: 'text', text: 'ok' }], isError: false, outcome: 'done', details: {} }
    },
  })
  await run(await bench.parts(session, await bench.prompt(session, 'go'), [looks]), never)
  assert.equal(seen.at(-1), 'tool_started')
})

test('a tool_started that can not be written means that the tool does not run and the run fails', async () => {
  await using bench = await runBench(
    taskScript([{ calls: [{ name: 'count', input: { to: 1 } }] }, { text: 'ok' }]),
  )
  const session = await bench.session()
  const calls: number[] = []
  const parts = await bench.parts(session, await bench.prompt(session, 'go'), [countTool(calls)])
  const append: typeof session.append = (...bodies) =>
    bodies.some(body => body.type === 'tool_started')
      ? Promise.reject(new Error('ENOSPC'))
      : session.append(...bodies)
  const result = await run({ ...parts, session: { ...session, append } }, never)
  assert.deepEqual([calls, result.outcome], [[], 'failed'])
})
