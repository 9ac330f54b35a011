import assert from 'node:assert/strict'
import { test } from 'node:test'
import { taskScript } from '@beige/test-support'
import { countTool, runBench } from '../test/run-bench.ts'
import { run } from './run.ts'

const never = new AbortController().signal
const callTo = (...numbers: number[]) => ({ calls: numbers.map(to => ({ name: 'count', input: { to } })) })

test('after an abort the next request is valid', async () => {
  await using bench = await runBench(taskScript([callTo(1, 2), { text: 'unreachable' }]))
  const session = await bench.session()
  const stop = new AbortController()
  const waits = countTool([], {
    run: (_input, context) => {
      stop.abort(new Error('by the test'))
      return Promise.reject(context.signal.reason)
    },
  })
  const first = await run(
    await bench.parts(session, await bench.prompt(session, 'count'), [waits]),
    stop.signal,
  )
  assert.equal(first.outcome, 'aborted')
  const finished = session.log.records.flatMap(record =>
    record.type === 'tool_finished' ? [record.outcome] : [],
  )
  assert.deepEqual(finished, ['interrupted', 'interrupted'])
  const second = await run(
    await bench.parts(session, await bench.prompt(session, 'again'), [countTool([])]),
    never,
  )
  assert.equal(second.outcome, 'done')
  assert.deepEqual(bench.server.refusals, [])
})
