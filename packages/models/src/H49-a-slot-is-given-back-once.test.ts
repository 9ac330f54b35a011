/** However a request ends, its slot is free again, and exactly one of those who wait gets it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '@beige/test-support'
import { askFor, cutAfter, fallbackBench, refuses, says } from '../test/fallback-bench.ts'
import { createLimiter } from './limiter.ts'

test('the naive way shows the hazard: freed, then taken again, a slot is given to two', async () => {
  let free = 0
  let inside = 0
  let most = 0
  const wake: (() => void)[] = []
  const naive = async (): Promise<void> => {
    if (free === 0) await new Promise<void>(resolve => wake.push(resolve))
    free--
    most = Math.max(most, ++inside)
  }
  const waiting = naive()
  free++
  wake.shift()?.()
  const barging = naive()
  await Promise.all([waiting, barging])
  assert.equal(most, 2)
})

test('a slot that was given back twice is one slot', async () => {
  const limiter = createLimiter(1, manualClock())
  const release = await limiter.acquire()
  const second = limiter.acquire()
  const third = limiter.acquire()
  release()
  release()
  await second
  assert.deepEqual([limiter.health().active, limiter.health().waiting], [1, 1])
  ;(await second)()
  ;(await third)()
  assert.equal(limiter.health().active, 0)
})

for (const [how, answer] of [
  ['an answer', () => says('a')],
  ['an error', () => refuses(500)],
  ['a cut stream', () => cutAfter('half')],
] as const)
  test(`after ${how} the slot is free`, async () => {
    await using bench = await fallbackBench(
      { 'one/a': answer },
      { config: { one: { concurrency: 1 } }, fallback: { passes: 1 } },
    )
    for (let n = 0; n < 3; n++) await askFor(bench.router, 'one/a')
    assert.equal(bench.asked.length, 3)
    assert.equal(bench.router.health().limiters.one?.active, 0)
  })

test('after an abort, in the queue or in the middle, the slot is free', async () => {
  const hold = () => ({ ...cutAfter('half'), ending: 'hold' as const })
  await using bench = await fallbackBench({ 'one/a': hold }, { config: { one: { concurrency: 1 } } })
  const stop = new AbortController()
  const begun = Promise.withResolvers<void>()
  const options = { signal: stop.signal }
  const first = askFor(bench.router, 'one/a', { options, onEvent: () => begun.resolve() })
  await begun.promise
  const second = askFor(bench.router, 'one/a', { options, onNotice: () => stop.abort() })
  assert.deepEqual([(await first).outcome.state, (await second).outcome.state], ['aborted', 'aborted'])
  const { active, waiting } = bench.router.health().limiters.one ?? { active: -1, waiting: -1 }
  assert.deepEqual([active, waiting, bench.asked.length], [0, 0, 1])
})
