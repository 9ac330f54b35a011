/** Slots are held for a request and never for a run: one is enough, however deep agents ask each other. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { askFor, fallbackBench, says } from '../test/fallback-bench.ts'

test('concurrency 1: between its requests a parent waits for a child, which waits for a grandchild', async () => {
  await using bench = await fallbackBench(
    { 'one/a': n => says(`answer ${n}`) },
    { config: { one: { concurrency: 1 } } },
  )
  const runOf = async (depth: number): Promise<number> => {
    await askFor(bench.router, 'one/a')
    const below = depth > 1 ? await runOf(depth - 1) : 0
    await askFor(bench.router, 'one/a')
    return below + 2
  }
  assert.equal(await runOf(5), 10)
  assert.equal(bench.asked.length, 10)
})
