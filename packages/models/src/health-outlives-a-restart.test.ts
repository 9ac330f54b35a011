/** `provider-health.json`: at once on a cooldown, else once a second; over restarts; one probe; never taken for empty. */
import assert from 'node:assert/strict'
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { askFor, fallbackBench, refuses, says, skippingClock } from '../test/fallback-bench.ts'
import { memoryDisk, textIn } from '../test/memory-disk.ts'

const FILE = '/state/provider-health.json'
const limited = (n: number) =>
  n === 1 ? refuses(429, { 'retry-after': '7', 'request-id': 'req_1' }) : says('a')
const overloaded = () => refuses(529)

test('429 with retry-after 7 cools the model for 7 s, for every session, and survives a kill', async () => {
  const disk = memoryDisk()
  const state = { directory: '/state', disk }
  const clock = skippingClock()
  await using first = await fallbackBench({ 'one/a': limited }, { state, clock })
  await askFor(first.router, 'one/a')
  // Killed: nothing is closed.
  await using second = await fallbackBench({ 'one/a': () => says('a') }, { state, clock })
  clock.skip(6999)
  const early = await askFor(second.router, 'one/a', { sessionId: 's_other' })
  assert.ok(early.outcome.state === 'failed' && early.outcome.class === 'rate_limit')
  clock.skip(1)
  assert.equal((await askFor(second.router, 'one/a')).outcome.state, 'done')
  assert.equal(second.asked.length, 1)
})

test('the file is that of the design page', async () => {
  const disk = memoryDisk()
  await using bench = await fallbackBench({ 'one/a': limited }, { state: { directory: '/state', disk } })
  await askFor(bench.router, 'one/a')
  const { providers, ...head } = JSON.parse(textIn(disk, FILE))
  assert.deepEqual(head, { version: 1, lastUpdated: '2026-08-24T12:00:00.000Z' })
  const { key, ...entry } = providers['one/a']
  assert.match(key, /^[0-9a-f]{8}$/)
  assert.deepEqual(entry, {
    rateLimitedAt: '2026-08-24T12:00:00.000Z',
    retryAfter: '2026-08-24T12:00:07.000Z',
    statedUntil: '2026-08-24T12:00:07.000Z',
    class: 'rate_limit',
    hard: true,
    source: 'header',
    consecutiveFailures: 1,
    lastError: {
      at: '2026-08-24T12:00:00.000Z',
      class: 'rate_limit',
      status: 429,
      message: 'status 429',
      requestId: 'req_1',
    },
  })
})

test('an overload cools nothing down, in no other session and over no restart', async () => {
  const disk = memoryDisk()
  const state = { directory: '/state', disk }
  await using first = await fallbackBench({ 'one/a': overloaded }, { state })
  await askFor(first.router, 'one/a')
  assert.equal(first.asked.length, 3)
  await askFor(first.router, 'one/a', { sessionId: 's_other' })
  assert.equal(first.asked.length, 6)
  await first.router.close()
  await using second = await fallbackBench({ 'one/a': () => says('a') }, { state })
  assert.equal(second.router.health().models.size, 0)
  assert.equal((await askFor(second.router, 'one/a')).outcome.state, 'done')
})

test('expired entries go when the file is read', async () => {
  const disk = memoryDisk()
  const state = { directory: '/state', disk }
  const clock = skippingClock()
  await using first = await fallbackBench({ 'one/a': limited }, { state, clock })
  await askFor(first.router, 'one/a')
  clock.skip(7000)
  await using second = await fallbackBench({ 'one/a': limited }, { state, clock })
  assert.equal(second.router.health().models.size, 0)
})

test('after a cooldown one request probes; others ask another model until it is known', async () => {
  const probe = Promise.withResolvers<void>()
  const bench = await fallbackBench(
    {
      'one/a': async n => {
        if (n === 2) await probe.promise
        return limited(n)
      },
      'two/b': () => says('b'),
    },
    { scope: { fallbackModels: [{ model: 'two/b' }] } },
  )
  await using _bench = bench
  await askFor(bench.router, 'one/a')
  bench.clock.skip(7000)
  const probing = askFor(bench.router, 'one/a')
  while (bench.asked.length < 3) await new Promise(setImmediate)
  await askFor(bench.router, 'one/a', { sessionId: 's_2' })
  await askFor(bench.router, 'one/a', { sessionId: 's_3' })
  assert.deepEqual(bench.asked, ['one/a', 'two/b', 'one/a', 'two/b', 'two/b'])
  probe.resolve()
  await probing
  await askFor(bench.router, 'one/a', { sessionId: 's_4' })
  assert.equal(bench.asked.at(-1), 'one/a')
  assert.equal(bench.router.health().models.size, 0)
})

test('who has nobody else does not wait for a probe', async () => {
  const probe = Promise.withResolvers<void>()
  const bench = await fallbackBench({
    'one/a': async n => {
      if (n === 2) await probe.promise
      return limited(n)
    },
  })
  await using _bench = bench
  await askFor(bench.router, 'one/a')
  bench.clock.skip(7000)
  const probing = askFor(bench.router, 'one/a')
  while (bench.asked.length < 2) await new Promise(setImmediate)
  assert.equal((await askFor(bench.router, 'one/a', { sessionId: 's_2' })).outcome.state, 'done')
  probe.resolve()
  await probing
})

test('an aborted probe lets the next one try', async () => {
  const bench = await fallbackBench(
    { 'one/a': n => (n === 2 ? { body: [], ending: 'hold' } : limited(n)), 'two/b': () => says('b') },
    { scope: { fallbackModels: [{ model: 'two/b' }] } },
  )
  await using _bench = bench
  await askFor(bench.router, 'one/a')
  bench.clock.skip(7000)
  const stop = new AbortController()
  const probing = askFor(bench.router, 'one/a', { options: { signal: stop.signal } })
  while (bench.asked.length < 3) await new Promise(setImmediate)
  stop.abort()
  assert.equal((await probing).outcome.state, 'aborted')
  await askFor(bench.router, 'one/a')
  assert.equal(bench.asked.at(-1), 'one/a')
})

test('a model can be cleared by hand', async () => {
  const disk = memoryDisk()
  await using bench = await fallbackBench({ 'one/a': limited }, { state: { directory: '/state', disk } })
  await askFor(bench.router, 'one/a')
  await bench.router.clearHealth({ provider: 'one', id: 'a' })
  assert.deepEqual(JSON.parse(textIn(disk, FILE)).providers, {})
  assert.equal((await askFor(bench.router, 'one/a')).outcome.state, 'done')
})

test('a full disk is said, and the cooldown holds in this process', async () => {
  const disk = memoryDisk()
  disk.room = 10
  const said: string[] = []
  const warn = (text: string) => said.push(text)
  await using bench = await fallbackBench(
    { 'one/a': limited },
    { state: { directory: '/state', disk }, warn },
  )
  await askFor(bench.router, 'one/a')
  assert.match(said.join(), /provider-health\.json could not be written.*ENOSPC/)
  assert.equal((await askFor(bench.router, 'one/a')).outcome.state, 'failed')
})

for (const content of ['', 'not json', '{"version":1}', '{"version":2,"lastUpdated":"x","providers":{}}'])
  test(`a file that can not be read is set aside and said: ${JSON.stringify(content)}`, async () => {
    const directory = await mkdtemp(join(tmpdir(), 'beige-health-'))
    try {
      await writeFile(join(directory, 'provider-health.json'), content)
      const said: string[] = []
      const options = { state: { directory }, warn: (text: string) => said.push(text) }
      await using bench = await fallbackBench({ 'one/a': limited }, options)
      assert.match(said.join(), /could not be read and was moved to/)
      await askFor(bench.router, 'one/a')
      await bench.router.close()
      const names = await readdir(directory)
      const aside = names.find(name => name.startsWith('provider-health.json.corrupt-'))
      assert.ok(aside !== undefined)
      assert.equal(await readFile(join(directory, aside), 'utf8'), content)
      assert.deepEqual(
        names.filter(name => name.endsWith('.tmp')),
        [],
      )
      assert.equal((await stat(join(directory, 'provider-health.json'))).mode & 0o777, 0o600)
    } finally {
      await rm(directory, { recursive: true })
    }
  })
