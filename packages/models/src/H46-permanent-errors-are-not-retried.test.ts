/** What will not pass is not tried again; another model may still answer. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { askFor, fallbackBench, refuses, says } from '../test/fallback-bench.ts'
import { newRoutingRun } from './index.ts'

const scope = { fallbackModels: [{ model: 'two/b' }] }

for (const [what, answer] of [
  ['401', () => refuses(401)],
  ['400', () => refuses(400)],
  ['404', () => refuses(404)],
  ['a page', () => ({ headers: { 'content-type': 'text/html' }, body: '<html>' })],
] as const)
  test(`not retried: ${what}`, async () => {
    await using bench = await fallbackBench({ 'one/a': answer, 'two/b': () => says('b') }, { scope })
    const run = newRoutingRun()
    assert.equal((await askFor(bench.router, 'one/a', { run })).outcome.state, 'done')
    assert.deepEqual(bench.asked, ['one/a', 'two/b'])
    await using alone = await fallbackBench({ 'one/a': answer })
    assert.equal((await askFor(alone.router, 'one/a')).outcome.state, 'failed')
    assert.equal(alone.asked.length, 1)
  })

test('a key that is refused puts all models of its provider out', async () => {
  await using bench = await fallbackBench(
    { 'one/a': () => refuses(401), 'one/c': () => says('c'), 'two/b': () => says('b') },
    { scope: { fallbackModels: [{ model: 'one/c' }, { model: 'two/b' }] } },
  )
  await askFor(bench.router, 'one/a')
  assert.deepEqual(bench.asked, ['one/a', 'two/b'])
})
