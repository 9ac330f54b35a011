/** The key is in the one header of its provider, and nothing of the process environment is sent. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '@beige/protocol'
import { startModelServer } from '@beige/test-support'
import { ask, bench, failed, KEY, placeOf, system, user, WIRES } from '../test/wires.ts'
import { createModelRouter, takeProviderVariables, type WireApi } from './index.ts'
import { placeholderKey } from './transport.ts'

const MODEL = { id: 'x', contextWindow: 1000, maxTokens: 10 }

const HEADER: Partial<Record<WireApi, string>> = {
  'anthropic-messages': 'x-api-key',
  'google-generative-ai': 'x-goog-api-key',
}

for (const api of WIRES) {
  test(`${api}: the key is sent in one header, and the placeholder nowhere`, async () => {
    await using b = await bench(api, [{ text: 'ok' }])
    await ask(b, [system, user('hi')])
    const request = await b.server.request(1)
    const holding = Object.entries(request.headers).filter(([, value]) => value.includes(KEY))
    assert.deepEqual(
      holding.map(([name]) => name),
      [HEADER[api] ?? 'authorization'],
    )
    assert.ok(!JSON.stringify([request.headers, request.body]).includes(placeholderKey(KEY)))
    assert.equal(request.headers['user-agent'], 'beige')
  })

  test(`${api}: a key that the vendor repeats is not in the record`, async () => {
    await using server = await startModelServer({ script: [], apiKey: KEY })
    const wrong = 'wrong.key.of.a.kind.that.no.pattern.knows'
    const router = await createModelRouter({
      providers: { p: { baseUrl: placeOf(server, api), api, apiKey: wrong, models: [MODEL] } },
      env: {},
      clock: systemClock,
    })
    const answer = await ask({ router, model: router.resolve('x') }, [system, user('hi')])
    assert.equal(failed(answer).status, 401)
    assert.ok(!JSON.stringify([answer.outcome, answer.message]).includes(wrong))
  })

  test(`${api}: a provider without a key sends none`, async () => {
    await using server = await startModelServer({ script: [{ text: 'free' }] })
    const router = await createModelRouter({
      providers: {
        p: { baseUrl: placeOf(server, api), api, models: [MODEL], headers: { 'x-team': 'blue' } },
      },
      env: {},
      clock: systemClock,
    })
    await ask({ router, model: router.resolve('p/x') }, [system, user('hi')])
    const { headers } = await server.request(1)
    assert.deepEqual(
      [headers.authorization, headers['x-api-key'], headers['x-team']],
      [undefined, undefined, 'blue'],
    )
  })

  test(`${api}: a provider that wants none gets none, though the environment has one`, async () => {
    await using server = await startModelServer({ script: [{ text: 'free' }] })
    const id = api === 'anthropic-messages' ? 'anthropic' : 'openai'
    const router = await createModelRouter({
      providers: { [id]: { baseUrl: placeOf(server, api), api, auth: 'none', models: [MODEL] } },
      env: { ANTHROPIC_API_KEY: KEY, OPENAI_API_KEY: KEY },
      clock: systemClock,
    })
    await ask({ router, model: router.resolve(`${id}/x`) }, [system, user('hi')])
    assert.ok(!JSON.stringify((await server.request(1)).headers).includes(KEY))
  })

  test(`${api}: what libraries would take from the environment is not sent`, async () => {
    const ambient = {
      OPENAI_ORG_ID: 'org-leak',
      OPENAI_PROJECT_ID: 'proj-leak',
      OPENAI_CUSTOM_HEADERS: 'x-leak: leak',
      ANTHROPIC_CUSTOM_HEADERS: 'x-leak: leak',
      ANTHROPIC_AUTH_TOKEN: 'token-leak',
      ANTHROPIC_BASE_URL: 'http://leak.invalid',
      OPENAI_BASE_URL: 'http://leak.invalid',
      PI_CACHE_RETENTION: 'long',
    }
    Object.assign(process.env, ambient)
    const taken = takeProviderVariables(process.env)
    assert.equal(taken.OPENAI_ORG_ID, 'org-leak')
    assert.equal(process.env.OPENAI_ORG_ID, undefined)
    await using b = await bench(api, [{ text: 'ok' }])
    await ask(b, [system, user('hi')])
    const request = await b.server.request(1)
    assert.doesNotMatch(JSON.stringify([request.headers, request.body]), /leak|"ttl"|24h/)
  })
}

test('organisation and project stay out even where the environment was left as it is', async t => {
  process.env.OPENAI_ORG_ID = 'org-leak'
  process.env.OPENAI_PROJECT_ID = 'proj-leak'
  t.after(() => takeProviderVariables(process.env))
  await using b = await bench('openai-responses', [{ text: 'ok' }])
  await ask(b, [system, user('hi')])
  assert.doesNotMatch(JSON.stringify((await b.server.request(1)).headers), /leak/)
})
