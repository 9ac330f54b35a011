/** A stream that began well can still fail; the outcome is what its end says, and it is given once. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { normalizeContext } from '@earendil-works/pi-ai/utils/transcript'
import { ask, bench, failed, system, user, WIRES } from '../test/wires.ts'

const TEXT = 'a long answer that is not going to be whole'

for (const api of WIRES) {
  test(`${api}: a cut connection is a cut, whatever had come`, async () => {
    const begun = Promise.withResolvers<void>()
    const fault = { kind: 'cut', afterEvents: 7, when: begun.promise } as const
    await using b = await bench(api, () => ({ text: TEXT, chunkChars: 4, fault }))
    const answer = await ask(b, [system, user('hi')], {
      onEvent: event => event.type === 'text_delta' && begun.resolve(),
    })
    const failure = failed(answer)
    assert.deepEqual([failure.cause, failure.status], ['cut', 200])
    assert.equal(answer.events.at(-1)?.type, 'error')
  })

  test(`${api}: a body that ends without the vendor's last event is a cut`, async () => {
    await using b = await bench(api, () => ({
      text: TEXT,
      chunkChars: 4,
      fault: { kind: 'end', afterEvents: 6 },
    }))
    assert.equal(failed(await ask(b, [system, user('hi')])).cause, 'cut')
  })

  test(`${api}: a connection that dies before the first event is a cut`, async () => {
    await using b = await bench(api, () => ({ text: TEXT, fault: { kind: 'cut', afterEvents: 0 } }))
    assert.equal(failed(await ask(b, [system, user('hi')])).cause, 'cut')
  })

  test(`${api}: an error event in the stream keeps the vendor's words`, async () => {
    const fault = {
      kind: 'error_event',
      afterEvents: 5,
      type: 'overloaded_error',
      message: 'Overloaded',
    } as const
    await using b = await bench(api, () => ({ text: TEXT, chunkChars: 4, fault }))
    const failure = failed(await ask(b, [system, user('hi')]))
    assert.deepEqual([failure.cause, failure.status, failure.message], ['stream', 200, 'Overloaded'])
    assert.match(failure.body, /overloaded_error/)
  })

  test(`${api}: the time in an error event is read`, async () => {
    const message = 'Rate limit reached. Please try again in 1.5s.'
    const fault = { kind: 'error_event', afterEvents: 3, type: 'rate_limit_exceeded', message } as const
    await using b = await bench(api, () => ({ text: TEXT, chunkChars: 4, fault }))
    assert.equal(failed(await ask(b, [system, user('hi')])).retryAfterMs, 1500)
  })

  test(`${api}: a refusal is told from a failure`, async () => {
    await using b = await bench(api, () => ({ text: 'I can', stop: 'refusal' }))
    assert.equal(failed(await ask(b, [system, user('hi')])).cause, 'refused')
  })

  test(`${api}: a proxy's page with status 200 is no answer`, async () => {
    const headers = { 'content-type': 'text/html' }
    const fault = { kind: 'status', status: 200, headers, body: '<html>Please log in</html>' } as const
    await using b = await bench(api, () => ({ fault }))
    const failure = failed(await ask(b, [system, user('hi')]))
    assert.deepEqual([failure.cause, failure.status], ['http', 200])
    assert.match(failure.body, /Please log in/)
  })

  test(`${api}: an outcome that its listener can not take is no success`, async () => {
    await using b = await bench(api, () => ({ text: 'fine' }))
    const stream = b.router.stream({
      sessionId: 's',
      model: b.model,
      context: normalizeContext({ messages: [system, user('hi')] }),
      options: {},
      onOutcome() {
        throw new Error('of the listener')
      },
    })
    const message = await stream.result()
    assert.equal(message.stopReason, 'error')
    assert.match(message.errorMessage ?? '', /of the listener/)
  })
}

test('a model of no endpoint fails in the stream, not by a throw', async () => {
  await using b = await bench('anthropic-messages', [])
  const model = { ...b.model, provider: 'nowhere' }
  assert.equal(failed(await ask({ router: b.router, model }, [user('hi')])).cause, 'no_route')
})

test('the URL of a model that was handed in is not believed', async () => {
  await using b = await bench('anthropic-messages', [{ text: 'ours' }])
  await using thief = await bench('anthropic-messages', [{ text: 'theirs' }])
  const model = { ...b.model, baseUrl: thief.server.url }
  assert.equal((await ask({ router: b.router, model }, [user('hi')])).outcome.state, 'done')
  assert.equal(thief.server.requests.length, 0)
})
