/** Gemini's and Mistral's wires: same key, failure and usage rules, with the vendor's answers canned at `fetch`. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '@beige/test-support'
import { ask, failed, KEY, ONCE, system, textOf, user } from '../test/wires.ts'
import { createModelRouter } from './index.ts'

type Sent = { url: string; headers: Headers }

async function asked(env: Record<string, string>, name: string, answer: () => Response) {
  const sent: Sent[] = []
  const fetch = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    sent.push({
      url: input instanceof Request ? input.url : String(input),
      headers: new Headers(init?.headers),
    })
    return answer()
  }
  const router = await createModelRouter({ env, clock: manualClock(), fetch, fallback: ONCE })
  return { sent, answer: await ask({ router, model: router.resolve(name) }, [system, user('hi')]) }
}

const sse = (...events: object[]) =>
  new Response(events.map(event => `data: ${JSON.stringify(event)}\n\n`).join(''), {
    headers: { 'content-type': 'text/event-stream' },
  })

test('Gemini: text, usage, the key in its own header', async () => {
  const { sent, answer } = await asked({ GEMINI_API_KEY: KEY }, 'gemini-2.5-flash', () =>
    sse({
      candidates: [{ content: { role: 'model', parts: [{ text: 'hello' }] }, finishReason: 'STOP' }],
      usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 2, totalTokenCount: 12 },
    }),
  )
  assert.deepEqual(
    [answer.outcome.state, textOf(answer.message), answer.message.usage.input],
    ['done', 'hello', 10],
  )
  assert.equal(sent.length, 1)
  assert.match(
    sent[0]?.url ?? '',
    /^https:\/\/generativelanguage\.googleapis\.com\/v1beta\/models\/gemini-2\.5-flash:/,
  )
  assert.equal(sent[0]?.headers.get('x-goog-api-key'), KEY)
})

test('Gemini: a quota error keeps the delay of its body', async () => {
  const error = {
    code: 429,
    status: 'RESOURCE_EXHAUSTED',
    message: 'Quota exceeded',
    details: [{ retryDelay: '34s' }],
  }
  const { sent, answer } = await asked({ GEMINI_API_KEY: KEY }, 'gemini-2.5-flash', () =>
    Response.json({ error }, { status: 429 }),
  )
  const failure = failed(answer)
  assert.deepEqual([failure.cause, failure.status, failure.retryAfterMs], ['http', 429, 34_000])
  assert.equal(failure.message, 'Quota exceeded')
  assert.equal(sent.length, 1)
})

test('Mistral: text, the key as a bearer, the path once', async () => {
  const { sent, answer } = await asked({ MISTRAL_API_KEY: KEY }, 'mistral-large-latest', () =>
    sse({
      id: 'c1',
      model: 'mistral-large-latest',
      choices: [{ index: 0, delta: { content: 'bonjour' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 5, completion_tokens: 1, total_tokens: 6 },
    }),
  )
  assert.deepEqual([answer.outcome.state, textOf(answer.message)], ['done', 'bonjour'])
  assert.equal(sent[0]?.url, 'https://api.mistral.ai/v1/chat/completions')
  assert.equal(sent[0]?.headers.get('authorization'), `Bearer ${KEY}`)
})

test('Mistral: overload is one request and keeps its status', async () => {
  const { sent, answer } = await asked({ MISTRAL_API_KEY: KEY }, 'mistral-large-latest', () =>
    Response.json({ message: 'Service overloaded' }, { status: 503, headers: { 'retry-after': '2' } }),
  )
  const failure = failed(answer)
  assert.deepEqual([failure.status, failure.retryAfterMs, failure.message], [503, 2000, 'Service overloaded'])
  assert.equal(sent.length, 1)
})
