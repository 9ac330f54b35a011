/** A limit that would wait for ever is refused, and whoever waits can leave. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '@beige/test-support'
import { fallbackBench, says } from '../test/fallback-bench.ts'
import { createLimiter } from './limiter.ts'

for (const concurrency of [0, -2, 1.5, Number.NaN])
  test(`concurrency ${concurrency} is refused`, async () => {
    await assert.rejects(fallbackBench({ 'one/a': () => says('a') }, { config: { one: { concurrency } } }), {
      code: 'bad_provider',
    })
  })

test('-1 is no limit', async () => {
  await using bench = await fallbackBench(
    { 'one/a': () => says('a') },
    { config: { one: { concurrency: -1 } } },
  )
  assert.equal(bench.router.health().limiters.one?.limit, Number.POSITIVE_INFINITY)
})

test('a waiter leaves with the reason of its signal, and those behind it move up', async () => {
  const limiter = createLimiter(1, manualClock())
  await limiter.acquire()
  const stop = new AbortController()
  const places: number[] = []
  const first = limiter.acquire(stop.signal)
  const second = limiter.acquire(undefined, place => places.push(place))
  stop.abort(new Error('enough'))
  await assert.rejects(first, /enough/)
  await assert.rejects(limiter.acquire(AbortSignal.abort(new Error('before'))), /before/)
  assert.deepEqual(places, [2, 1])
  void second
})
