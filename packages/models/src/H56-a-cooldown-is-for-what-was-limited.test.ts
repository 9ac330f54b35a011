/** Keyed by what was limited: the model, all of the account with a quota, and the key that it was said to. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { askFor, fallbackBench, refuses, says, skippingClock } from '../test/fallback-bench.ts'
import { memoryDisk } from '../test/memory-disk.ts'

const limited = (n: number) => (n === 1 ? refuses(429, { 'retry-after': '60' }) : says('a'))
const spent = (n: number) => (n === 1 ? refuses(402, { 'retry-after': '60' }) : says('a'))

test('a rate limit is of one model, the others of its provider go on', async () => {
  await using bench = await fallbackBench({ 'one/a': limited, 'one/b': () => says('b') })
  await askFor(bench.router, 'one/a')
  assert.equal((await askFor(bench.router, 'one/b')).outcome.state, 'done')
  assert.deepEqual([...bench.router.health().models.keys()], ['one/a'])
})

test('a quota is of the account: no model of the provider is asked, those of others are', async () => {
  await using bench = await fallbackBench({
    'one/a': spent,
    'one/b': () => says('b'),
    'two/c': () => says('c'),
  })
  await askFor(bench.router, 'one/a')
  assert.equal((await askFor(bench.router, 'one/b')).outcome.state, 'failed')
  assert.equal((await askFor(bench.router, 'two/c')).outcome.state, 'done')
  assert.deepEqual([...bench.router.health().models.keys()], ['one/*'])
  assert.deepEqual(bench.asked, ['one/a', 'two/c'])
})

test('another key of the same provider is not cooled down, and no key is in the file', async () => {
  const disk = memoryDisk()
  const state = { directory: '/state', disk }
  const clock = skippingClock()
  {
    await using bench = await fallbackBench({ 'one/a': limited }, { state, clock })
    await askFor(bench.router, 'one/a')
    await bench.router.close()
  }
  await using same = await fallbackBench({ 'one/a': () => says('a') }, { state, clock })
  assert.equal((await askFor(same.router, 'one/a')).outcome.state, 'failed')
  const config = { one: { apiKey: 'sk-another-key' } }
  await using other = await fallbackBench({ 'one/a': () => says('a') }, { state, clock, config })
  assert.equal((await askFor(other.router, 'one/a')).outcome.state, 'done')
  const file = new TextDecoder().decode(disk.files.get('/state/provider-health.json'))
  assert.doesNotMatch(file, /sk-/)
})
