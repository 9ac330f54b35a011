/** Failures without a vendor's word: cut, silent, unreachable, unverifiable, and the caller who leaves. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cannedStream, manualClock, startAnswerServer } from '@beige/test-support'
import { ask, bench, failed, KEY, ONCE, system, user, WIRES } from '../test/wires.ts'
import { classify } from './classify.ts'
import { createModelRouter } from './index.ts'

const models = [{ id: 'm-1', contextWindow: 100_000, maxTokens: 4096 }]
const networkError = (code: string) =>
  new TypeError('fetch failed', { cause: Object.assign(new Error(code), { code }) })

async function failedBy(code: string) {
  const router = await createModelRouter({
    providers: { own: { baseUrl: 'https://own.example', api: 'anthropic-messages', apiKey: KEY, models } },
    env: {},
    fallback: ONCE,
    clock: manualClock(),
    fetch: () => Promise.reject(networkError(code)),
  })
  return failed(await ask({ router, model: router.resolve('m-1') }, [user('hi')]))
}

for (const code of ['ECONNREFUSED', 'ECONNRESET', 'EAI_AGAIN', 'UND_ERR_SOCKET'])
  test(`${code} is transient`, async () => {
    const failure = await failedBy(code)
    assert.deepEqual(
      [failure.cause, failure.code, classify(failure, 'own').class],
      ['network', code, 'transient'],
    )
  })

for (const code of ['CERT_HAS_EXPIRED', 'DEPTH_ZERO_SELF_SIGNED_CERT', 'ERR_TLS_CERT_ALTNAME_INVALID'])
  test(`${code} is for a person to mend`, async () => {
    assert.equal(classify(await failedBy(code), 'own').class, 'invalid_request')
  })

for (const api of WIRES) {
  test(`${api}: a cut body and one without its last event are transient`, async () => {
    const begun = Promise.withResolvers<void>()
    for (const kind of ['cut', 'end'] as const) {
      await using b = await bench(api, () => ({
        text: 'a long answer that is not whole',
        chunkChars: 4,
        fault: { kind, afterEvents: 6, ...(kind === 'cut' ? { when: begun.promise } : {}) },
      }))
      const answer = await ask(b, [system, user('hi')], { onEvent: () => begun.resolve() })
      assert.equal(classify(failed(answer), 'scripted').class, 'transient')
    }
  })

  test(`${api}: a length that is reached is an answer`, async () => {
    await using b = await bench(api, [{ text: 'as far as it', stop: 'max_tokens' }])
    const answer = await ask(b, [system, user('hi')])
    assert.deepEqual([answer.outcome.state, answer.message.stopReason], ['done', 'length'])
  })

  test(`${api}: the caller leaves in the middle: aborted, and the server sees it`, async () => {
    const leave = new AbortController()
    await using b = await bench(api, () => ({
      text: 'a long answer',
      chunkChars: 4,
      fault: { kind: 'silence', afterEvents: 4 },
    }))
    const answer = await ask(b, [system, user('hi')], { signal: leave.signal, onEvent: () => leave.abort() })
    assert.equal(answer.outcome.state, 'aborted')
    assert.equal(await b.server.requests[0]?.end, 'client_closed')
  })
}

for (const [what, body, idleMs, waitMs] of [
  ['headers, then 120 s of silence', [], 120_000, 120_000],
  ['only keep-alives for 600 s', Array.from({ length: 5 }, () => ': keep-alive\n\n'), 700_000, 600_000],
] as const)
  test(`${what}: transient, and told as a timeout`, async () => {
    const clock = manualClock()
    const headers = { 'content-type': 'text/event-stream' }
    await using server = await startAnswerServer(() => ({ headers, body, ending: 'hold' }))
    const timeouts = { idleMs, firstTokenMs: 600_000 }
    const router = await createModelRouter({
      providers: { own: { baseUrl: server.url, api: 'anthropic-messages', apiKey: KEY, models, timeouts } },
      env: {},
      fallback: ONCE,
      clock,
      fetch: async (input, init) => {
        const response = await fetch(input, init)
        setImmediate(() => clock.advance(waitMs))
        return response
      },
    })
    const failure = failed(await ask({ router, model: router.resolve('m-1') }, [user('hi')]))
    assert.deepEqual([failure.cause, classify(failure, 'own').class], ['idle', 'transient'])
    assert.equal(await server.requests[0]?.end, 'client_closed')
  })

test('an error behind the end of the text is an error', async () => {
  const headers = { 'content-type': 'text/event-stream' }
  const whole = cannedStream('openai-chat', { text: 'all of it' })
  const late = 'data: {"throttlingException":{"message":"Too many requests"}}\n\n'
  await using server = await startAnswerServer(() => ({ headers, body: [...whole.slice(0, -1), late] }))
  const router = await createModelRouter({
    providers: { own: { baseUrl: server.url, api: 'openai-completions', apiKey: KEY, models } },
    env: {},
    fallback: ONCE,
    clock: manualClock(),
  })
  const failure = failed(await ask({ router, model: router.resolve('m-1') }, [system, user('hi')]))
  assert.equal(classify(failure, 'own').class, 'rate_limit')
})
