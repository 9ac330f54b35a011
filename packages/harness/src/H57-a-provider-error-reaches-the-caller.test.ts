import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runBench } from '../test/run-bench.ts'
import { run } from './run.ts'

const never = new AbortController().signal

test('the error of a provider reaches the caller with its status, and the run ends as failed', async () => {
  const refuses = [{ fault: { kind: 'status', status: 401, message: 'bad key' } }] as const
  await using bench = await runBench(refuses)
  const session = await bench.session()
  const result = await run(await bench.parts(session, await bench.prompt(session, 'hi'), []), never)
  assert.equal(result.outcome, 'failed')
  assert.equal(result.error?.code, 'model')
  assert.equal(result.error?.data.status, 401)
  const end = session.log.records.at(-1)
  assert.ok(end?.type === 'run_end' && end.outcome === 'failed')
})
