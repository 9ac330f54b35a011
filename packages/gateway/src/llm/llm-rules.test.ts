/** What holds for every program that reaches models through the gateway: who may, what it costs, how it ends. */
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import Anthropic from '@anthropic-ai/sdk'
import { type Script, startModelServer, type Turn } from '@beige/test-support'
import OpenAI from 'openai'
import { ask, type TestGateway } from '../lifecycle/gateway.fixture.ts'
import { agent, gatewayAt, PROVIDER_KEY } from './models.fixture.ts'

const LINES_MS = 5000
const HELLO = [{ role: 'user' as const, content: 'hello' }]

async function world(script: Script, options: Parameters<typeof gatewayAt>[1] = {}) {
  const server = await startModelServer({ script, apiKey: PROVIDER_KEY })
  const gateway = await gatewayAt(server.url, options)
  const openai = (key = 'all', to = gateway) =>
    new OpenAI({ apiKey: to.keys[key] ?? key, baseURL: `http://127.0.0.1:${to.port}/v1`, maxRetries: 0 })
  return {
    server,
    gateway,
    openai,
    anthropic: (key = 'all') =>
      new Anthropic({
        apiKey: gateway.keys[key] ?? key,
        baseURL: `http://127.0.0.1:${gateway.port}`,
        maxRetries: 0,
      }),
    async [Symbol.asyncDispose]() {
      await gateway.close()
      await server.close()
    },
  }
}
const post = (gateway: TestGateway, path: string, body: unknown, key = 'all') =>
  ask(
    gateway.port,
    'POST',
    path,
    { Authorization: `Bearer ${gateway.keys[key] ?? key}`, 'Content-Type': 'application/json' },
    JSON.stringify(body),
  )
const llmLines = (gateway: TestGateway) => gateway.auditLines().filter(line => line.type === 'llm')
const overloaded: Turn = { fault: { kind: 'status', status: 529, type: 'overloaded_error', message: 'busy' } }

test('an agent stands for its list: what its first model can not answer another does, and the client sees one answer', async () => {
  await using all = await world(
    request => (request.wire === 'anthropic' ? overloaded : { text: `by ${request.wire}` }),
    {
      llm: { fallback: { backoffMs: 0 } },
    },
  )
  const answer = await all.openai().chat.completions.create({ model: 'scout', messages: HELLO })
  assert.equal(answer.choices[0]?.message.content, 'by openai-chat')
  assert.equal(answer.model, 'two/demo')
  const lines = llmLines(all.gateway)
  assert.deepEqual(
    lines.map(line => [line.model, line.class, line.outcome, line.agent, line.decision]),
    [
      ['one/demo', 'overloaded', 'failed', 'scout', 'allowed'],
      ['two/demo', 'done', 'done', 'scout', 'allowed'],
    ],
  )
  assert.match(lines[1].key, /^k_/)
  assert.ok(lines[1].tokens.input > 0 && lines[1].costUsd > 0)
})

const half: Turn = {
  text: 'this is only the first half of it',
  chunkChars: 8,
  fault: { kind: 'end', afterEvents: 4 },
}

test('a part that was seen is marked as one and nobody else goes on with it', async () => {
  await using all = await world(request => (request.wire === 'anthropic' ? { ...half } : { text: 'another' }))
  const seen: string[] = []
  await assert.rejects(async () => {
    const stream = await all
      .openai()
      .chat.completions.create({ model: 'scout', messages: HELLO, stream: true })
    for await (const chunk of stream) seen.push(chunk.choices[0]?.delta.content ?? '')
  }, OpenAI.APIError)
  assert.match(seen.join(''), /^this is/)
  const heard: string[] = []
  await assert.rejects(async () => {
    const stream = await all
      .anthropic()
      .messages.create({ model: 'scout', max_tokens: 100, messages: HELLO, stream: true })
    for await (const event of stream) heard.push(event.type)
  }, Anthropic.APIError)
  assert.ok(heard.includes('content_block_delta') && !heard.includes('message_stop'))
  const responses = await post(all.gateway, '/v1/responses', { model: 'scout', input: 'hello', stream: true })
  assert.match(responses.body, /event: response\.failed/)
  assert.ok(!responses.body.includes('response.completed'))
  const pi = await post(all.gateway, '/messages', { model: 'scout', context: { messages: HELLO } })
  assert.match(pi.body, /"type":"error"/)
  assert.deepEqual(new Set(all.server.requests.map(request => request.wire)), new Set(['anthropic']))
})

test('what was not seen by anybody is asked again, and a wire that can take back what it gave goes on', async () => {
  await using all = await world(
    request => (request.wire === 'anthropic' ? { ...half } : { text: 'another' }),
    {
      llm: { fallback: { backoffMs: 0 } },
      agents: { scout: agent('one', ['two']) },
    },
  )
  const whole = await all.openai().chat.completions.create({ model: 'scout', messages: HELLO })
  assert.equal(whole.choices[0]?.message.content, 'another')
  const chat = await post(all.gateway, '/api/chat/stream', {
    provider: 'one',
    modelId: 'demo',
    agentName: 'scout',
    context: { systemPrompt: 'Be short.', messages: HELLO },
  })
  const events = chat.body
    .trim()
    .split('\n')
    .map(line => JSON.parse(line))
  const back = events.findIndex(event => event.type === 'model_fallback' && event.discard)
  assert.ok(back > 0 && events.slice(0, back).some(event => event.type === 'text_delta'))
  const after = events.slice(back + 1)
  assert.equal(
    after
      .filter(event => event.type === 'text_delta')
      .map(event => event.delta)
      .join(''),
    'another',
  )
  assert.deepEqual(after.find(event => event.type === 'model_fallback' && !event.discard)?.provider, 'two')
  assert.equal(after.at(-1)?.type, 'done')
})

test('429 with retry-after 7 cools the model down for everybody, over a restart; an overload does not', async () => {
  const limited: Turn = {
    fault: { kind: 'status', status: 429, headers: { 'retry-after': '7' }, type: 'rate_limit_error' },
  }
  let answer: Turn = limited
  const one = { agents: { scout: agent('one') }, keys: { a: {}, b: {} } }
  await using all = await world(() => answer, one)
  const statusOf = async (key: string, to = all.gateway) => {
    const said = await post(to, '/v1/messages', { model: 'scout', max_tokens: 10, messages: HELLO }, key)
    return [said.status, JSON.parse(said.body).error?.type, Number(said.headers['retry-after'])] as const
  }
  assert.deepEqual(await statusOf('a'), [429, 'rate_limit_error', 7])
  answer = { text: 'well again' }
  const [status, type, wait] = await statusOf('b')
  assert.ok(status === 429 && type === 'rate_limit_error' && wait <= 7, 'another key, another session')
  assert.equal(all.server.requests.length, 1, 'nobody was asked again')
  const health = JSON.parse(
    (await ask(all.gateway.port, 'GET', '/api/health', all.gateway.bearer('reader'))).body,
  )
  assert.equal(health.models.cooling['one/demo'].class, 'rate_limit')
  assert.equal(
    health.models.cooling['one/demo'].reason,
    undefined,
    'what a provider said is for the operator',
  )

  const file = join(all.gateway.layout.data, 'provider-health.json')
  await all.gateway.close()
  assert.ok(existsSync(file))
  const again = await gatewayAt(all.server.url, { ...one, home: all.gateway.layout.home })
  try {
    assert.equal((await statusOf('a', again))[0], 429)
    assert.equal(all.server.requests.length, 1)
    const entry = JSON.parse(readFileSync(file, 'utf8')).providers['one/demo']
    const coolsMs = Date.parse(entry.retryAfter) - Date.parse(entry.rateLimitedAt)
    assert.equal(coolsMs, 7000)
    const clear = (model: string) =>
      ask(again.port, 'DELETE', `/api/providers/one/${model}/health`, again.bearer('owner'))
    assert.deepEqual([(await clear('nope')).status, (await clear('demo')).status], [404, 200])
    assert.equal((await statusOf('a', again))[0], 200)
    const usage = JSON.parse((await ask(again.port, 'GET', '/api/usage', again.bearer('owner'))).body)
    assert.deepEqual([usage.total.requests, usage.agents[0].name, usage.keys.length], [2, 'scout', 2])
  } finally {
    await again.close()
  }

  await using other = await world([overloaded, overloaded, overloaded, { text: 'fine' }], {
    agents: { scout: agent('one') },
    llm: { fallback: { backoffMs: 0 } },
  })
  assert.equal(
    (await post(other.gateway, '/v1/messages', { model: 'scout', max_tokens: 10, messages: HELLO })).status,
    503,
  )
  assert.equal(
    (await post(other.gateway, '/v1/messages', { model: 'scout', max_tokens: 10, messages: HELLO })).status,
    200,
  )
})

test('who may not is told in the words of the wire: no key, forged, expired, another model, too often', async () => {
  await using all = await world(() => ({ text: 'hi' }), {
    keys: {
      all: {},
      old: { expiresAt: 1 },
      narrow: { models: ['two/demo'] },
      named: { models: ['scout'] },
      slow: { rpm: 1 },
    },
  })
  const { gateway } = all
  const good = gateway.keys.all ?? ''
  const [head = '', kid = '', payload = '', signature = ''] = good.split('.')
  const wider = Buffer.from(
    JSON.stringify({ ...JSON.parse(Buffer.from(payload, 'base64url').toString()), models: ['*', 'x'] }),
  ).toString('base64url')
  for (const key of ['', 'x', 'old', `${head}.${kid}.${wider}.${signature}`, `${good}x`, good.slice(0, -1)]) {
    const chat = await post(gateway, '/v1/chat/completions', { model: 'scout', messages: HELLO }, key)
    assert.equal(chat.status, 401, key.slice(0, 20))
    assert.equal(JSON.parse(chat.body).error.code, 'invalid_api_key')
    const claude = await post(gateway, '/v1/messages', { model: 'scout', messages: HELLO }, key)
    assert.equal(JSON.parse(claude.body).error.type, 'authentication_error')
  }
  const openaiError = async (key: string, model: string) => {
    const said = await post(gateway, '/v1/chat/completions', { model, messages: HELLO }, key)
    return said.status
  }
  assert.equal(await openaiError('narrow', 'two/demo'), 200)
  for (const model of ['one/demo', 'ONE/DEMO', 'scout', 'three/demo', ' one/demo']) {
    assert.equal(await openaiError('narrow', model), 403, model)
  }
  assert.equal(await openaiError('named', 'scout'), 200)
  assert.equal(await openaiError('named', 'one/demo'), 403)
  assert.equal(await openaiError('all', 'one/demoo'), 404)
  assert.equal(await openaiError('slow', 'scout'), 200)
  const often = await post(
    gateway,
    '/v1/messages',
    { model: 'scout', max_tokens: 5, messages: HELLO },
    'slow',
  )
  assert.equal(often.status, 429)
  assert.ok(Number(often.headers['retry-after']) > 0)
  assert.equal(JSON.parse(often.body).error.type, 'rate_limit_error')
  const seen = await all.openai('narrow').models.list()
  assert.deepEqual(
    seen.data.map(model => model.id),
    ['two/demo'],
  )
  for (const path of ['/api/health', '/api/agents', '/api/keys'])
    assert.equal(
      (await ask(gateway.port, 'GET', path, { Authorization: `Bearer ${good}` })).status,
      403,
      path,
    )
  const denials = llmLines(gateway).filter(line => line.decision === 'denied')
  assert.ok(denials.length >= 6 && denials.every(line => line.by === 'policy'))
})

test('a token reaches the models of its agents', async () => {
  await using all = await world(() => ({ text: 'hi' }))
  const status = async (name: 'owner' | 'client' | 'reader' | 'elsewhere') =>
    (
      await post(
        all.gateway,
        '/v1/chat/completions',
        { model: 'scout', messages: HELLO },
        all.gateway.token(name),
      )
    ).status
  assert.deepEqual(
    [await status('client'), await status('reader'), await status('elsewhere')],
    [200, 403, 403],
  )
})

test('what would change the answer and can not be done is refused by name', async () => {
  await using all = await world(() => ({ text: 'hi' }))
  const bad: [path: string, body: object, says: RegExp][] = [
    ['/v1/chat/completions', { messages: HELLO, n: 2 }, /^n:/],
    ['/v1/chat/completions', { messages: [] }, /messages/],
    ['/v1/chat/completions', { messages: [{ role: 'wizard', content: '' }] }, /messages\[0\]\.role/],
    ['/v1/chat/completions', { messages: HELLO, max_tokens: 0 }, /max_tokens/],
    [
      '/v1/chat/completions',
      {
        messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'https://x/y.png' } }] }],
      },
      /nothing is fetched/,
    ],
    ['/v1/responses', { input: 'x', previous_response_id: 'r' }, /previous_response_id/],
    ['/v1/responses', { input: [{ type: 'item_reference', id: 'x' }] }, /input\[0\]/],
    ['/v1/messages', { messages: HELLO, tools: [{ type: 'bash_20250124', name: 'bash' }] }, /tools\[0\]/],
    ['/messages', { context: { messages: [{ role: 'user' }] } }, /context\.messages\[0\]\.content/],
    ['/messages', { context: { messages: HELLO }, options: { apiKey: 'x' } }, /options\.apiKey/],
  ]
  for (const [path, body, says] of bad) {
    const said = await post(all.gateway, path, { model: 'one/demo', ...body })
    assert.equal(said.status, 400, `${path} ${JSON.stringify(body)}: ${said.body}`)
    assert.match(JSON.parse(said.body).error.message, says)
  }
  for (const options of [{ apiKey: 'x' }, { baseUrl: 'http://evil' }, { headers: {} }, { sessionId: 's' }]) {
    const body = {
      provider: 'one',
      modelId: 'demo',
      agentName: 'scout',
      context: { messages: HELLO },
      options,
    }
    assert.equal((await post(all.gateway, '/api/chat/stream', body)).status, 400)
  }
  const elsewhere = { provider: 'one', modelId: 'demoo', agentName: 'scout', context: { messages: HELLO } }
  assert.equal((await post(all.gateway, '/api/chat/stream', elsewhere)).status, 404)
  assert.equal(all.server.requests.length, 0)
})

test('a client that goes away ends the request at the provider', async () => {
  await using all = await world(() => ({
    text: 'never told to the end, '.repeat(20),
    fault: { kind: 'silence', afterEvents: 5 },
  }))
  const stream = await all
    .openai()
    .chat.completions.create({ model: 'one/demo', messages: HELLO, stream: true })
  for await (const _chunk of stream) break
  stream.controller.abort()
  const request = await all.server.request(1)
  assert.equal(await request.end, 'client_closed')
  const deadline = Date.now() + 5000
  while (llmLines(all.gateway).length === 0 && Date.now() < deadline) await new Promise(setImmediate)
  assert.deepEqual(
    llmLines(all.gateway).map(line => [line.class, line.outcome]),
    [['aborted', 'interrupted']],
  )
})

test('a revoked key ends what it has open', async () => {
  await using all = await world(() => ({
    text: 'never told to the end, '.repeat(20),
    fault: { kind: 'silence', afterEvents: 5 },
  }))
  const { gateway } = all
  const made = await ask(
    gateway.port,
    'POST',
    '/api/keys',
    { ...gateway.bearer('owner'), 'Content-Type': 'application/json' },
    JSON.stringify({ label: 'x', models: ['scout'], budget: null, rpm: null, expiresAt: null }),
  )
  const { key, id } = JSON.parse(made.body)
  const stream = await all
    .openai(key)
    .chat.completions.create({ model: 'scout', messages: HELLO, stream: true })
  const read = (async () => {
    for await (const _chunk of stream);
  })()
  await all.server.request(1)
  const gone = await ask(gateway.port, 'DELETE', `/api/keys/${id}`, gateway.bearer('owner'))
  assert.equal(gone.status, 200)
  await assert.rejects(read)
  assert.equal((await post(gateway, '/v1/messages', { model: 'scout', messages: HELLO }, key)).status, 401)
  assert.ok(!gateway.lines.join('\n').includes(key))
})

test('a key that a provider echoes is nowhere: not in the answer, the log, the audit, the health file', async () => {
  const echo: Turn = { fault: { kind: 'status', status: 401, message: `wrong key ${PROVIDER_KEY} from you` } }
  await using all = await world(() => echo, { agents: { scout: agent('one') } })
  for (const path of ['/v1/chat/completions', '/v1/messages', '/messages']) {
    const said = await post(all.gateway, path, {
      model: 'scout',
      max_tokens: 5,
      messages: HELLO,
      context: { messages: HELLO },
    })
    assert.equal(said.status, 502)
    assert.ok(!said.body.includes(PROVIDER_KEY), said.body)
  }
  await all.gateway.close()
  for (const file of [
    all.gateway.layout.audit,
    join(all.gateway.layout.data, 'provider-health.json'),
    join(all.gateway.layout.data, 'usage.jsonl'),
  ])
    assert.ok(!existsSync(file) || !readFileSync(file, 'utf8').includes(PROVIDER_KEY), file)
  assert.ok(!all.gateway.lines.join('\n').includes(PROVIDER_KEY))
})

test('a hundred at once at the last cents of a budget: it is not passed, each is settled once, the ledger is exact', async () => {
  const usage = { inputTokens: 300, outputTokens: 50 }
  await using all = await world(
    request =>
      request.index % 5 === 1
        ? { text: 'cut '.repeat(50), usage, fault: { kind: 'cut', afterEvents: 6 } }
        : { text: 'ok', usage },
    { keys: { poor: { budget: { usdPerDay: 0.05 } } } },
  )
  const body = { model: 'one/demo', max_tokens: 100, messages: HELLO, stream: true }
  const answers = await Promise.all(
    Array.from({ length: 100 }, () => post(all.gateway, '/v1/messages', body, 'poor')),
  )
  const refused = answers.filter(({ status }) => status === 402)
  assert.ok(refused.length > 0 && refused.length < 100)
  for (const one of refused) assert.equal(JSON.parse(one.body).error.type, 'billing_error')
  // The last lines may be on their way when the last answer is there.
  const deadline = Date.now() + LINES_MS
  const denied = () => llmLines(all.gateway).filter(line => line.by === 'budget').length
  while (denied() < refused.length && Date.now() < deadline) await pause(10)
  const ledger = readFileSync(join(all.gateway.layout.data, 'usage.jsonl'), 'utf8')
    .trim()
    .split('\n')
    .map(line => JSON.parse(line))
  const lines = llmLines(all.gateway)
  const sent = lines.filter(line => line.decision === 'allowed')
  assert.equal(sent.length, all.server.requests.length)
  assert.equal(ledger.length, sent.length)
  assert.ok(sent.some(line => line.class === 'transient') && sent.some(line => line.class === 'done'))
  assert.equal(denied(), refused.length)
  const spent = ledger.reduce((sum, line) => sum + line.costNanoUsd, 0)
  const audited = sent.reduce((sum, line) => sum + Math.round(line.costUsd * 1e9), 0)
  assert.equal(spent, audited)
  assert.ok(spent <= 0.05e9, `${spent}`)
  for (const line of ledger.filter(one => one.end === 'done'))
    assert.equal(line.costNanoUsd, (300 * 3 + 50 * 15) * 1000)
})
