/** Status, headers, body and the stated time of a failed request stay; the key does not. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask, bench, failed, KEY, system, user, WIRES } from '../test/wires.ts'

const STATUSES = [400, 401, 403, 404, 408, 409, 413, 429, 500, 502, 503, 529]

for (const api of WIRES) {
  for (const status of STATUSES) {
    test(`${api}: ${status} is one request and keeps status, headers and text`, async () => {
      const headers = { 'retry-after': '7', 'request-id': 'req_42', 'x-should-retry': 'true' }
      const fault = {
        kind: 'status',
        status,
        headers,
        type: 'some_error',
        message: `no luck, ${KEY}`,
      } as const
      await using b = await bench(api, () => ({ fault }))
      const answer = await ask(b, [system, user('hi')])
      const failure = failed(answer)
      assert.deepEqual([failure.cause, failure.status], ['http', status])
      assert.equal(failure.headers['request-id'], 'req_42')
      assert.equal(failure.retryAfterMs, 7000)
      assert.equal(failure.message, 'no luck, [redacted]')
      assert.match(failure.body, /some_error/)
      assert.equal(b.server.requests.length, 1)
      assert.equal(answer.message.stopReason, 'error')
      assert.ok(!JSON.stringify([failure, answer.message]).includes(KEY))
    })
  }

  test(`${api}: an endless error body is cut`, async () => {
    const fault = { kind: 'status', status: 500, body: 'x'.repeat(3_000_000) } as const
    await using b = await bench(api, () => ({ fault }))
    const failure = failed(await ask(b, [system, user('hi')]))
    assert.equal(failure.body.length, 8192)
    assert.ok(failure.message.length <= 1000)
  })

  test(`${api}: nobody listens`, async () => {
    const b = await bench(api, [])
    await b.server.close()
    const failure = failed(await ask(b, [system, user('hi')]))
    assert.deepEqual([failure.cause, failure.status], ['network', null])
    assert.match(failure.message, /ECONNREFUSED/)
  })

  test(`${api}: a redirect is not followed, so the key goes nowhere else`, async () => {
    await using elsewhere = await bench(api, [{ text: 'stolen' }])
    const headers = { location: `${elsewhere.server.url}/v1/messages` }
    await using b = await bench(api, () => ({ fault: { kind: 'status', status: 307, headers } }))
    const failure = failed(await ask(b, [system, user('hi')]))
    assert.deepEqual([failure.cause, failure.status], ['http', 307])
    assert.equal(elsewhere.server.requests.length, 0)
  })
}
