/** Who is asked, in which order, how often, and what is waited for: design page "Gateway", "Model router". */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { normalizeContext } from '@earendil-works/pi-ai/utils/transcript'
import { askFor, cutAfter, fallbackBench, refuses, says } from '../test/fallback-bench.ts'
import { textOf, user } from '../test/wires.ts'
import { newRoutingRun } from './index.ts'

const down = () => refuses(500)
const scope = { fallbackModels: [{ model: 'two/b' }] }

test('two models that are down: six attempts in three passes, with full jitter between them', async () => {
  await using bench = await fallbackBench({ 'one/a': down, 'two/b': down }, { scope })
  const { outcome, message } = await askFor(bench.router, 'one/a')
  assert.deepEqual(bench.asked, ['one/a', 'two/b', 'one/a', 'two/b', 'one/a', 'two/b'])
  assert.deepEqual(bench.clock.waits.map(Math.round), [500, 1000])
  assert.equal(outcome.state, 'failed')
  assert.equal(message.stopReason, 'error')
  assert.match(message.errorMessage ?? '', /one\/a transient: status 500; two\/b transient: status 500/)
})

test('one model: three attempts, and its own words', async () => {
  await using bench = await fallbackBench({ 'one/a': down })
  const { message } = await askFor(bench.router, 'one/a')
  assert.deepEqual([bench.asked.length, message.errorMessage], [3, 'status 500'])
})

test('the numbers are options', async () => {
  const fallback = { passes: 5, failuresPerModel: 4, backoffMs: 250, backoffMaxMs: 600 }
  await using bench = await fallbackBench({ 'one/a': down }, { fallback })
  await askFor(bench.router, 'one/a')
  assert.equal(bench.asked.length, 4)
  assert.deepEqual(bench.clock.waits.map(Math.round), [250, 500, 600])
})

test('maxAttempts bounds all of it', async () => {
  const fallback = { passes: 50, failuresPerModel: 50, maxAttempts: 7 }
  await using bench = await fallbackBench({ 'one/a': down, 'two/b': down }, { scope, fallback })
  await askFor(bench.router, 'one/a')
  assert.equal(bench.asked.length, 7)
})

test('k failures, one prompt in the request that is answered', async () => {
  await using bench = await fallbackBench(
    { 'one/a': n => (n < 3 ? down() : says('well')), 'two/b': down },
    { scope },
  )
  const { outcome } = await askFor(bench.router, 'one/a')
  assert.deepEqual(outcome, { state: 'done', model: { provider: 'one', id: 'a' } })
  assert.equal(bench.bodies.length, 5)
  for (const body of bench.bodies) assert.equal(body.split('"role":"user"').length - 1, 1)
})

test('later requests of a run start at the model that answered last; those of another run do not', async () => {
  await using bench = await fallbackBench({ 'one/a': down, 'two/b': () => says('b') }, { scope })
  const run = newRoutingRun()
  await askFor(bench.router, 'one/a', { run })
  await askFor(bench.router, 'one/a', { run })
  assert.deepEqual(bench.asked, ['one/a', 'two/b', 'two/b'])
  await askFor(bench.router, 'one/a', { run: newRoutingRun() })
  assert.deepEqual(bench.asked.slice(3), ['one/a', 'two/b'])
})

test('three consecutive failures put a model out for its run, an answer forgives them', async () => {
  const behaviours = { 'one/a': (n: number) => (n === 3 ? says('a') : down()), 'two/b': down }
  await using bench = await fallbackBench(behaviours, { scope, fallback: { passes: 9 } })
  const run = newRoutingRun()
  assert.equal((await askFor(bench.router, 'one/a', { run })).outcome.state, 'done')
  assert.deepEqual(run.strikes.get('one/a'), undefined)
  assert.equal((await askFor(bench.router, 'one/a', { run })).outcome.state, 'failed')
  // b had two strikes from before, a three of its own.
  assert.deepEqual(bench.asked.slice(5), ['one/a', 'two/b', 'one/a', 'one/a'])
})

test('text that was streamed is withdrawn in its place, before the next attempt streams', async () => {
  await using bench = await fallbackBench(
    { 'one/a': () => cutAfter('half'), 'two/b': () => says('whole') },
    { scope },
  )
  const { seen, notices, message } = await askFor(bench.router, 'one/a')
  assert.deepEqual(seen, [
    ...['start', 'text_start', 'half', 'text_end', 'discarded'],
    ...['start', 'text_start', 'whole', 'text_end', 'model_switched', 'done'],
  ])
  assert.deepEqual([notices[0]?.type === 'discarded' && notices[0].attempt, textOf(message)], [1, 'whole'])
  assert.equal(message.model, 'b')
})

test('an attempt that streamed nothing is not withdrawn', async () => {
  await using bench = await fallbackBench({ 'one/a': down, 'two/b': () => says('b') }, { scope })
  assert.ok(!(await askFor(bench.router, 'one/a')).seen.includes('discarded'))
})

for (const [reason, first] of [
  ['fallback_error', down],
  ['fallback_rate_limit', () => refuses(429)],
  ['fallback_rate_limit', () => refuses(402)],
] as const)
  test(`the switch is told when it has happened: ${reason}`, async () => {
    await using bench = await fallbackBench({ 'one/a': first, 'two/b': () => says('b') }, { scope })
    const { notices } = await askFor(bench.router, 'one/a')
    assert.deepEqual(notices, [{ type: 'model_switched', from: 'one/a', to: 'two/b', reason }])
    // The next run of the session stays there while the first model cools down, and comes back after.
    const run = newRoutingRun({ provider: 'two', id: 'b' })
    const next = await askFor(bench.router, 'one/a', { run })
    assert.deepEqual(next.notices, [])
  })

test('the way back is told too', async () => {
  await using bench = await fallbackBench({ 'one/a': () => says('a'), 'two/b': down }, { scope })
  const { notices } = await askFor(bench.router, 'one/a', {
    run: newRoutingRun({ provider: 'two', id: 'b' }),
  })
  assert.deepEqual(notices, [{ type: 'model_switched', from: 'two/b', to: 'one/a', reason: 'recovered' }])
})

test('a request that is too long is handed up at once, and so is a refusal', async () => {
  const tooLong = () => refuses(400, {}, 'prompt is too long: 210000 tokens > 200000 maximum')
  const filtered = () => ({ status: 400, body: '{"error":{"code":"content_filter","message":"no"}}' })
  for (const [answer, expected, cause] of [
    [tooLong, 'context_too_long', 'http'],
    [filtered, 'refused', 'refused'],
  ] as const) {
    await using bench = await fallbackBench({ 'one/a': answer, 'two/b': () => says('b') }, { scope })
    const { outcome } = await askFor(bench.router, 'one/a')
    assert.ok(outcome.state === 'failed')
    assert.deepEqual([outcome.class, outcome.failure.cause, bench.asked.length], [expected, cause, 1])
  }
})

test('an overload that says when it will be over is waited for in this run, and cools nothing down', async () => {
  const busy = (n: number) => (n === 1 ? refuses(503, { 'retry-after': '10' }) : says('a'))
  await using bench = await fallbackBench({ 'one/a': busy })
  assert.equal((await askFor(bench.router, 'one/a')).outcome.state, 'done')
  assert.deepEqual(bench.clock.waits.map(Math.round), [500, 9500])
  assert.equal(bench.router.health().models.size, 0)
})

test('a limit: the model is not asked again while it cools down, by any session', async () => {
  await using bench = await fallbackBench({ 'one/a': () => refuses(429, { 'retry-after': '7' }) })
  const { outcome } = await askFor(bench.router, 'one/a')
  assert.ok(outcome.state === 'failed' && outcome.class === 'rate_limit')
  assert.equal(outcome.retryAtMs, bench.clock.now() + 7000)
  const other = await askFor(bench.router, 'one/a', { sessionId: 's_other' })
  assert.ok(other.outcome.state === 'failed' && other.outcome.failure.cause === 'unavailable')
  assert.equal(bench.asked.length, 1)
})

test('with cooldownWaitMs a cooldown that is over so soon is waited for, a longer one is not', async () => {
  const limited = (n: number) => (n === 1 ? refuses(429, { 'retry-after': '7' }) : says('a'))
  await using bench = await fallbackBench({ 'one/a': limited }, { fallback: { cooldownWaitMs: 60_000 } })
  assert.equal((await askFor(bench.router, 'one/a')).outcome.state, 'done')
  assert.deepEqual(bench.clock.waits, [7000])
  await using long = await fallbackBench(
    { 'one/a': () => refuses(429, { 'retry-after': '61' }) },
    { fallback: { cooldownWaitMs: 60_000 } },
  )
  assert.equal((await askFor(long.router, 'one/a')).outcome.state, 'failed')
  assert.deepEqual(long.clock.waits, [])
})

test('alone: no other model is asked', async () => {
  await using bench = await fallbackBench({ 'one/a': down, 'two/b': () => says('b') }, { scope })
  await askFor(bench.router, 'one/a', { isAlone: true })
  assert.deepEqual(new Set(bench.asked), new Set(['one/a']))
})

test('an abort ends a wait between passes, and nothing is sent after it', async () => {
  const stop = new AbortController()
  const bench = await fallbackBench({
    'one/a': () => {
      stop.abort()
      return down()
    },
  })
  await using _bench = bench
  const { outcome } = await askFor(bench.router, 'one/a', { options: { signal: stop.signal } })
  assert.deepEqual([outcome.state, bench.asked.length], ['aborted', 1])
})

test('another model gets the history that was made for it', async () => {
  await using bench = await fallbackBench(
    { 'one/a': down, 'two/b': () => says('b') },
    { scope, fallback: { passes: 1 } },
  )
  const contextFor = ({ id }: { id: string }) => normalizeContext({ messages: [user(`for ${id}`)] })
  await askFor(bench.router, 'one/a', { contextFor })
  assert.deepEqual(
    bench.bodies.map(body => body.includes('for b')),
    [false, true],
  )
})
