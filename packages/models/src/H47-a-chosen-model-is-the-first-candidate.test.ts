/** The model that a session has chosen gets no more than the first place. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { askFor, fallbackBench, refuses, says } from '../test/fallback-bench.ts'
import { newRoutingRun } from './index.ts'

const down = () => refuses(500)

test('a chosen model falls back like any other', async () => {
  await using bench = await fallbackBench(
    { 'one/a': down, 'two/b': () => says('b'), 'one/chosen': down },
    { scope: { fallbackModels: [{ model: 'one/a' }, { model: 'two/b' }] } },
  )
  const run = newRoutingRun()
  await askFor(bench.router, 'one/chosen', { run })
  await askFor(bench.router, 'one/chosen', { run })
  assert.deepEqual(bench.asked, ['one/chosen', 'one/a', 'two/b', 'two/b'])
})
