/** A slot belongs to a request: one each, queued and told, and health says what stands still. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { askFor, fallbackBench, says } from '../test/fallback-bench.ts'
import { limiterHealth } from './limiter.ts'

test('waiting is told with its place, and the requests come one after the other', async () => {
  const held = Array.from({ length: 3 }, () => Promise.withResolvers<void>())
  const bench = await fallbackBench(
    {
      'one/a': async n => {
        await held[n - 1]?.promise
        return says(`answer ${n}`)
      },
    },
    { config: { one: { concurrency: 1 } } },
  )
  await using _bench = bench
  const asking = [1, 2, 3].map(n => askFor(bench.router, 'one/a', { sessionId: `s_${n}` }))
  while (bench.router.health().limiters.one?.waiting !== 2) await new Promise(setImmediate)
  assert.equal(bench.router.health().limiters.one?.active, 1)
  for (const one of held) one.resolve()
  const answers = await Promise.all(asking)
  assert.deepEqual(
    answers.map(({ notices }) => notices.map(notice => notice.type === 'waiting' && notice.position)),
    [[], [1], [2, 1]],
  )
  assert.equal(bench.asked.length, 3)
  const { active, waiting } = bench.router.health().limiters.one ?? { active: -1, waiting: -1 }
  assert.deepEqual([active, waiting], [0, 0])
})

test('a waiter beside a free slot for a second is said to be stuck', () => {
  const waiters = new Set([{ sinceMs: 5000 }])
  assert.equal(limiterHealth({ limit: 1, held: new Set(), waiters }, 5999).isStuck, false)
  assert.equal(limiterHealth({ limit: 1, held: new Set(), waiters }, 6000).isStuck, true)
  assert.equal(limiterHealth({ limit: 1, held: new Set([{ sinceMs: 0 }]), waiters }, 60_000).isStuck, false)
})
