/** After an abort nothing of the request is left, as the server sees it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask, bench, system, user, WIRES } from '../test/wires.ts'

for (const api of WIRES) {
  test(`${api}: in the middle of the answer`, async () => {
    const fault = { kind: 'silence', afterEvents: 7 } as const
    await using b = await bench(api, () => ({ text: 'as much as you like of it', chunkChars: 4, fault }))
    const stop = new AbortController()
    const answer = await ask(b, [system, user('hi')], {
      signal: stop.signal,
      onEvent: event => event.type === 'text_delta' && stop.abort(),
    })
    assert.equal(answer.outcome.state, 'aborted')
    assert.equal(answer.message.stopReason, 'aborted')
    assert.ok(answer.message.content.length > 0, 'what was received stays')
    assert.equal(await (await b.server.request(1)).end, 'client_closed')
  })

  test(`${api}: before an answer`, async () => {
    const never = Promise.withResolvers<never>()
    await using b = await bench(api, () => never.promise)
    const stop = new AbortController()
    const answer = ask(b, [system, user('hi')], { signal: stop.signal })
    const request = await b.server.request(1)
    stop.abort()
    assert.equal((await answer).outcome.state, 'aborted')
    assert.equal(await request.end, 'client_closed')
  })

  test(`${api}: before the request`, async () => {
    await using b = await bench(api, [])
    const answer = await ask(b, [system, user('hi')], { signal: AbortSignal.abort() })
    assert.equal(answer.outcome.state, 'aborted')
    assert.equal(b.server.requests.length, 0)
  })
}
