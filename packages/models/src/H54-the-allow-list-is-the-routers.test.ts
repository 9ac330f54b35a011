/** A model that may not be used is out of reach on every way to it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { askFor, fallbackBench, says } from '../test/fallback-bench.ts'

test('a model that is not on the list', async () => {
  await using bench = await fallbackBench({ 'one/a': () => says('a'), 'two/b': () => says('b') })
  const narrow = bench.router.for({ allowModels: ['two/b'] })
  assert.throws(() => narrow.resolve('one/a'), { code: 'not_allowed' })
  assert.throws(() => narrow.for({ fallbackModels: [{ model: 'one/a' }] }), { code: 'not_allowed' })
  const { outcome } = await askFor(narrow, 'two/b', { model: bench.router.resolve('one/a') })
  assert.ok(outcome.state === 'failed' && outcome.failure.cause === 'no_route')
  assert.deepEqual(bench.asked, [])
})
