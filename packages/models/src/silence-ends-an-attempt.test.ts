/** A server may hold the connection and say nothing; time is the test's own. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '@beige/test-support'
import { ask, bench, failed, system, user, WIRES } from '../test/wires.ts'

for (const api of WIRES) {
  test(`${api}: 300 s without a byte is idle, and the connection is closed`, async () => {
    const clock = manualClock()
    const fault = { kind: 'silence', afterEvents: 6 } as const
    await using b = await bench(api, () => ({ text: 'I am thinking about it', chunkChars: 4, fault }), {
      clock,
    })
    const begun = Promise.withResolvers<void>()
    const answer = ask(b, [system, user('hi')], {
      onEvent: event => event.type === 'text_delta' && begun.resolve(),
    })
    await begun.promise
    clock.advance(299_999)
    const request = await b.server.request(1)
    clock.advance(1)
    const failure = failed(await answer)
    assert.deepEqual([failure.cause, failure.status], ['idle', 200])
    assert.equal(failure.message, 'nothing came for 300 s')
    assert.equal(await request.end, 'client_closed')
    assert.equal(clock.sleepers(), 0)
  })

  test(`${api}: silence before the first byte is idle too`, async () => {
    const clock = manualClock()
    const never = Promise.withResolvers<never>()
    await using b = await bench(api, () => never.promise, { clock })
    const answer = ask(b, [system, user('hi')])
    const request = await b.server.request(1)
    clock.advance(300_000)
    assert.equal(failed(await answer).cause, 'idle')
    assert.equal(await request.end, 'client_closed')
  })
}
