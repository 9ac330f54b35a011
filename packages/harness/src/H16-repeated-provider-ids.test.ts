import assert from 'node:assert/strict'
import { test } from 'node:test'
import { taskScript } from '@beige/test-support'
import { countTool, runBench } from '../test/run-bench.ts'
import { run } from './run.ts'

const never = new AbortController().signal

test('two calls of one id each meet their own result', async () => {
  const twice = { calls: [1, 2].map(to => ({ id: 'toolu_same', name: 'count', input: { to } })) }
  await using bench = await runBench(taskScript([twice, twice, { text: 'ok' }]))
  const session = await bench.session()
  const runId = await bench.prompt(session, 'count')
  const result = await run(await bench.parts(session, runId, [countTool([])]), never)
  assert.equal(result.outcome, 'done')
  assert.deepEqual(bench.server.refusals, [])
  const results = (bench.seen.at(-1)?.messages ?? []).flatMap(message => message.results)
  assert.deepEqual(
    results.map(one => one.text),
    ['counted to 1', 'counted to 2', 'counted to 1', 'counted to 2'],
  )
  assert.equal(new Set(results.map(one => one.callId)).size, 4)
})
