/** Reserved before, settled after, once, whatever becomes of the request; over it nothing is sent. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemRandom } from '@beige/protocol'
import { normalizeContext } from '@earendil-works/pi-ai/utils/transcript'
import { askFor, cutAfter, fallbackBench, refuses, says, skippingClock } from '../test/fallback-bench.ts'
import { memoryDisk } from '../test/memory-disk.ts'
import { system, user } from '../test/wires.ts'
import { type Budget, createAccounts } from './budgets.ts'
import { NO_USAGE, reservedUsage } from './usage.ts'

const answer = () => says('a', { inputTokens: 100, outputTokens: 10 }) // $0.0003
const USED_USD = 0.0003

/** What one request of the bench reserves. */
const RESERVED = await (async () => {
  await using bench = await fallbackBench({ 'one/a': answer })
  return reservedUsage(
    bench.router.resolve('one/a'),
    normalizeContext({ messages: [system, user('hi')] }),
    {},
  )
})()
const RESERVED_USD = RESERVED.nanoUsd / 1e9

for (const per of ['key', 'agent', 'tenant', 'session', 'all'] as const)
  test(`per ${per}: the request that would pass it is not sent, and says what is spent`, async () => {
    await using bench = await fallbackBench({ 'one/a': answer })
    const budgets: Budget[] = [{ per, usdPerDay: RESERVED_USD + 1.5 * USED_USD }]
    const router = bench.router.for({ key: 'k1', agent: 'scout', tenant: 't1', budgets })
    assert.equal((await askFor(router, 'one/a')).outcome.state, 'done')
    assert.equal((await askFor(router, 'one/a')).outcome.state, 'done')
    const { outcome } = await askFor(router, 'one/a')
    assert.ok(outcome.state === 'failed' && outcome.class === 'budget', JSON.stringify(outcome))
    assert.match(outcome.failure.message, /the budget of (all|\w+:\w+) is spent: \$0\.0006 of \$0\.01/)
    assert.equal(bench.asked.length, 2)
    const other = bench.router.for({ key: 'k2', agent: 'other', tenant: 't2', budgets })
    const elsewhere = await askFor(other, 'one/a', { sessionId: 's_other' })
    assert.equal(elsewhere.outcome.state, per === 'all' ? 'failed' : 'done')
  })

test('what runs at the same time is reserved', async () => {
  const gate = Promise.withResolvers<void>()
  const bench = await fallbackBench({
    'one/a': async () => {
      await gate.promise
      return answer()
    },
  })
  await using _bench = bench
  const router = bench.router.for({
    agent: 'scout',
    budgets: [{ per: 'agent', usdPerDay: RESERVED_USD * 2.5 }],
  })
  const asking = Array.from({ length: 5 }, () => askFor(router, 'one/a'))
  while (bench.asked.length < 2) await new Promise(setImmediate)
  gate.resolve()
  const states = (await Promise.all(asking)).map(({ outcome }) => outcome.state)
  assert.deepEqual(states, ['done', 'done', 'failed', 'failed', 'failed'])
  assert.equal((await askFor(router, 'one/a')).outcome.state, 'done', 'what was reserved is free again')
})

for (const [how, behaviour] of [
  ['an error', () => refuses(400)],
  ['a cut stream', () => cutAfter('half')],
] as const)
  test(`after ${how} the reservation is given back`, async () => {
    await using bench = await fallbackBench({ 'one/a': behaviour }, { fallback: { passes: 1 } })
    const router = bench.router.for({
      agent: 'scout',
      budgets: [{ per: 'agent', usdPerDay: RESERVED_USD * 1.5 }],
    })
    for (let n = 0; n < 4; n++) await askFor(router, 'one/a')
    assert.equal(bench.asked.length, 4)
  })

test('after an abort it is given back too, and what was said is counted', async () => {
  const bench = await fallbackBench({ 'one/a': () => ({ ...cutAfter('half of it'), ending: 'hold' }) })
  await using _bench = bench
  const router = bench.router.for({
    agent: 'scout',
    budgets: [{ per: 'agent', usdPerDay: RESERVED_USD * 1.5 }],
  })
  for (let n = 0; n < 3; n++) {
    const stop = new AbortController()
    const options = { signal: stop.signal }
    const { outcome } = await askFor(router, 'one/a', { options, onEvent: () => stop.abort() })
    assert.equal(outcome.state, 'aborted')
  }
  assert.equal(bench.asked.length, 3)
})

test('days and months are those of UTC, and a restart forgets nothing', async () => {
  const disk = memoryDisk()
  const clock = skippingClock(Date.UTC(2026, 7, 30, 23, 59))
  const budgets: Budget[] = [{ per: 'agent', tokensPerDay: RESERVED.tokens + 150 }]
  const open = () =>
    fallbackBench({ 'one/a': answer }, { clock, random: systemRandom, state: { directory: '/state', disk } })
  for (const expected of ['done', 'done', 'failed']) {
    await using bench = await open()
    const { outcome } = await askFor(bench.router.for({ agent: 'scout', budgets }), 'one/a')
    assert.equal(outcome.state, expected)
    await bench.router.close()
  }
  clock.skip(60_000)
  await using bench = await open()
  assert.equal((await askFor(bench.router.for({ agent: 'scout', budgets }), 'one/a')).outcome.state, 'done')
})

test('a budget in money wants a price for every model that it covers', async () => {
  const models = [{ id: 'a', contextWindow: 1000, maxTokens: 100 }]
  const free = [{ ...models[0], id: 'a', contextWindow: 1000, maxTokens: 100, cost: { input: 0, output: 0 } }]
  const scope = { budgets: [{ per: 'all', usdPerDay: 1 }], fallbackModels: [{ model: 'one/a' }] } as const
  await assert.rejects(fallbackBench({ 'one/a': answer }, { config: { one: { models } }, scope }), {
    code: 'no_price',
  })
  await using bench = await fallbackBench({ 'one/a': answer }, { config: { one: { models: free } }, scope })
  assert.equal((await askFor(bench.router, 'one/a')).outcome.state, 'done')
  assert.throws(() => bench.router.for({ budgets: [{ per: 'agent', usd: 0 }] }), { code: 'bad_number' })
})

test('a reservation is settled once, also over midnight', () => {
  const accounts = createAccounts()
  const budgets: Budget[] = [{ per: 'agent', usdPerDay: 1, usd: 2 }]
  const before = Date.UTC(2026, 7, 31, 23, 59)
  const found = accounts.reserve(budgets, { agent: 'a' }, { tokens: 10, nanoUsd: 9e8 }, before)
  assert.ok('reservation' in found)
  // The day has turned while it was answered: it was the old day's.
  assert.ok(
    'reservation' in accounts.reserve(budgets, { agent: 'a' }, { tokens: 1, nanoUsd: 1e8 }, before + 120_000),
  )
  found.reservation.settle({ ...NO_USAGE, output: 5, costNanoUsd: 8e8 })
  found.reservation.settle({ ...NO_USAGE, output: 5, costNanoUsd: 8e8 })
  const { dayNanoUsd, monthNanoUsd, nanoUsd, reservedNanoUsd } = accounts.spentBy('agent', 'a')
  assert.deepEqual([dayNanoUsd, monthNanoUsd, nanoUsd, reservedNanoUsd], [0, 0, 8e8, 1e8])
})
