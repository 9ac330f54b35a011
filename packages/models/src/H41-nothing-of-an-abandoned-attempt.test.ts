/** An attempt is over and closed before the next begins, as the server sees it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { askFor, cutAfter, fallbackBench, says } from '../test/fallback-bench.ts'
import { textOf } from '../test/wires.ts'

const scope = { fallbackModels: [{ model: 'two/b' }] }

test('an abandoned attempt is closed before the next begins, and sends nothing later', async () => {
  const open: number[] = []
  const begun = Promise.withResolvers<void>()
  const bench = await fallbackBench(
    {
      'one/a': () => ({ ...cutAfter('half an'), ending: 'hold' }),
      'two/b': () => {
        open.push(bench.server.open())
        return says('all of it')
      },
    },
    { scope, fallback: { passes: 1 }, config: { one: { timeouts: { idleMs: 200_000 } } } },
  )
  await using _bench = bench
  // The stream stands still until its watchdog ends it.
  const answering = askFor(bench.router, 'one/a', { onEvent: () => begun.resolve() })
  await begun.promise
  bench.clock.fire(200_000)
  const { seen, message } = await answering
  assert.equal(textOf(message), 'all of it')
  assert.deepEqual(open, [1], 'only its own connection is open when the second attempt arrives')
  assert.equal(await bench.server.requests[0]?.end, 'client_closed')
  assert.equal(bench.server.requests.length, 2)
  assert.ok(seen.indexOf('discarded') < seen.lastIndexOf('start'))
})
