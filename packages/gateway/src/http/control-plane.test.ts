import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, test } from 'node:test'
import { ask, askRaw, type TestHome, testHome } from '../cli/home.fixture.ts'

let home: TestHome
let port: number
const tokens = new Map<string, string>()

before(async () => {
  home = testHome({
    gateway: { port: 0, origins: ['https://ui.example.com'], publicHosts: ['beige.example.com'] },
  })
  for (const [name, ...more] of [
    ['owner', '--scopes', 'owner'],
    ['client', '--scopes', 'client'],
    ['reader', '--scopes', 'read-only'],
    ['elsewhere', '--scopes', 'client', '--agent', 'other'],
    ['expired', '--scopes', 'owner', '--days', '0'],
  ] as const)
    tokens.set(name, (await home.beige('token', 'create', '--name', name, ...more)).out.trim())
  const started = await home.beige('gateway', 'start')
  port = Number(/gateway ready: 127\.0\.0\.1:(\d+)/.exec(started.out)?.[1])
})
after(() => home.beige('gateway', 'stop'))

const ROUTES: readonly [method: string, path: string, scope: string][] = [
  ['GET', '/api/health', 'read'],
  ['GET', '/api/agents', 'read'],
  ['POST', '/api/agents/scout/prompt', 'prompt'],
  ['POST', '/api/sessions/api%3Ascout%3Adefault/abort', 'prompt'],
  ['POST', '/api/gateway/stop', 'admin'],
  ['GET', '/api/tokens', 'admin'],
  ['POST', '/api/tokens', 'admin'],
  ['DELETE', '/api/tokens/x', 'admin'],
]
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  client: ['read', 'prompt'],
  reader: ['read'],
}
const bearer = (name: string) => ({ Authorization: `Bearer ${tokens.get(name) ?? ''}` })

test('no-token: every route and method without a token, with a wrong, an expired and one of too small a scope', async () => {
  for (const [method, path, scope] of ROUTES) {
    const status = async (headers: Record<string, string>) => (await ask(port, method, path, headers)).status
    assert.equal(await status({}), 401, `${method} ${path}`)
    assert.equal(await status({ Authorization: 'Bearer bgt_v1.000000000000.x' }), 401)
    assert.equal(await status({ Authorization: `Basic ${tokens.get('owner')}` }), 401)
    assert.equal(await status(bearer('expired')), 401)
    for (const [name, scopes] of Object.entries(ALLOWED)) {
      if (scopes.includes(scope)) continue
      assert.equal(await status(bearer(name)), 403, `${method} ${path} as ${name}`)
    }
    const inUrl = await ask(port, method, `${path}?token=${tokens.get('owner')}`)
    assert.equal(inUrl.status, 401, 'a token in a URL is none')
  }
  assert.ok(!readFileSync(home.layout.log, 'utf8').includes(tokens.get('owner') ?? 'x'))
})

test('the open routes say one word', async () => {
  assert.deepEqual((await ask(port, 'GET', '/livez')).body, '{"status":"ok"}\n')
  assert.deepEqual((await ask(port, 'GET', '/readyz')).body, '{"status":"ready"}\n')
  assert.equal((await ask(port, 'POST', '/livez')).status, 405)
  assert.equal((await ask(port, 'GET', '/livez/')).status, 401)
})

test('H73-no-page-and-no-rebound-name: Host and Origin on every route', async () => {
  const owner = bearer('owner')
  for (const [method, path] of ROUTES) {
    const status = async (headers: Record<string, string | string[]>) =>
      (await ask(port, method, path, { ...owner, ...headers })).status
    for (const host of ['evil.example.com', 'localhost.evil.com', 'beige.example.com.evil.com'])
      assert.equal(await status({ Host: host }), 403, `${path} for ${host}`)
    for (const origin of ['https://evil.example.com', 'null', 'http://localhost', 'chrome-extension://x'])
      assert.equal(await status({ Origin: origin }), 403, `${path} from ${origin}`)
    for (const site of ['cross-site', 'same-site', 'same-origin'])
      assert.equal(await status({ 'Sec-Fetch-Site': site }), 403)
    assert.equal(
      await status({ Upgrade: 'websocket', Connection: 'Upgrade', Origin: 'https://evil.example.com' }),
      403,
    )
  }
  for (const host of ['localhost', `127.0.0.1:${port}`, '[::1]', 'beige.example.com', 'LOCALHOST:1'])
    assert.equal((await ask(port, 'GET', '/api/health', { ...owner, Host: host })).status, 200, host)
  const listed = await ask(port, 'GET', '/api/health', { ...owner, Origin: 'https://ui.example.com' })
  assert.equal(listed.status, 200)
})

test('bad-host, http-smuggling: what can not be parsed for certain is refused and closed', async () => {
  const auth = `Authorization: Bearer ${tokens.get('owner')}`
  const get = 'GET /api/health HTTP/1.1'
  const bad: readonly [status: number, head: readonly string[]][] = [
    [400, [get, auth]],
    [400, [get, auth, 'Host: ']],
    [400, [get, auth, 'Host: a b']],
    [400, [get, auth, 'Host: http://localhost']],
    [400, [get, auth, 'Host: localhost', 'Host: localhost']],
    [400, [get, auth, 'Host: localhost', 'Host : localhost']],
    [431, [get, auth, `Host: ${'x'.repeat(65_536)}`]],
    [400, ['POST /api/tokens HTTP/1.1', auth, 'Host: localhost', 'Content-Length: 2', 'Content-Length: 3']],
    [
      400,
      [
        'POST /api/tokens HTTP/1.1',
        auth,
        'Host: localhost',
        'Content-Length: 2',
        'Transfer-Encoding: chunked',
      ],
    ],
    [400, ['GET /api/health', 'Host: localhost']],
    [400, ['\u0016\u0003\u0001']],
  ]
  for (const [status, head] of bad)
    assert.equal(await askRaw(port, head), status, head.join(' | ').slice(0, 200))
})

test('H74-json-content-type-required: forms and plain text are refused, and nothing runs', async () => {
  const body = JSON.stringify({ message: 'hi' })
  for (const type of [
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data',
    '',
    'application/json; charset=utf-16',
  ])
    assert.equal(
      (
        await ask(
          port,
          'POST',
          '/api/agents/scout/prompt',
          { ...bearer('owner'), 'Content-Type': type },
          body,
        )
      ).status,
      415,
      type,
    )
  const encoded = { ...bearer('owner'), 'Content-Type': 'application/json', 'Content-Encoding': 'gzip' }
  assert.equal((await ask(port, 'POST', '/api/agents/scout/prompt', encoded, body)).status, 415)
})

test('H75-malformed-input-is-400-with-a-code, H76-bodies-are-capped', async () => {
  const headers = { ...bearer('owner'), 'Content-Type': 'application/json' }
  const post = (body: string, path = '/api/agents/scout/prompt') => ask(port, 'POST', path, headers, body)
  for (const body of [
    '',
    '{',
    '[]',
    '"x"',
    '{"message":""}',
    '{"message":7}',
    '{"message":"x","sesionKey":"y"}',
    '{"message":"x","sessionKey":"no colon"}',
    `{"message":${'['.repeat(100_000)}`,
    '{"message":"x","__proto__":{"stream":true}}',
  ]) {
    const answer = await post(body)
    assert.equal(answer.status, body.includes('no colon') ? 503 : 400, `${body.slice(0, 40)}: ${answer.body}`)
    assert.ok(typeof JSON.parse(answer.body).error.code === 'string')
    assert.ok(!/\/(src|node_modules)\//.test(answer.body), 'no stack and no path')
  }
  assert.equal(
    (await post(`{"message":"${'x'.repeat(9_000_000)}"}`).catch(() => ({ status: 413 }))).status,
    413,
  )
  assert.equal((await post('{"message":"x"}', '/api/agents/sout/prompt')).status, 404)
  assert.match((await post('{"message":"x"}', '/api/agents/sout/prompt')).body, /did you mean \\"scout\\"/)
  assert.equal((await ask(port, 'PUT', '/api/health', bearer('owner'))).status, 405)
  assert.equal((await ask(port, 'GET', '/api/nothing', bearer('owner'))).status, 404)
  assert.equal((await ask(port, 'GET', `/api/health?${'x'.repeat(20_000)}`, bearer('owner'))).status, 431)
})

test('a token sees its agents alone, and ends when it is revoked', async () => {
  assert.deepEqual(JSON.parse((await ask(port, 'GET', '/api/agents', bearer('elsewhere'))).body), {
    agents: [],
  })
  const headers = { ...bearer('elsewhere'), 'Content-Type': 'application/json' }
  assert.equal((await ask(port, 'POST', '/api/agents/scout/prompt', headers, '{"message":"x"}')).status, 404)
  const id = /^bgt_v1\.([0-9a-f]{12})\./.exec(tokens.get('elsewhere') ?? '')?.[1] ?? ''
  assert.equal((await home.beige('token', 'revoke', id)).out, `revoked ${id}\n`)
  assert.equal((await ask(port, 'GET', '/api/agents', bearer('elsewhere'))).status, 401)
  assert.equal((await home.beige('token', 'revoke', id)).code, 1)
  const listed = (await home.beige('token', 'list')).out
  assert.match(listed, /"client"/)
  assert.ok(!readFileSync(home.layout.tokens, 'utf8').includes(tokens.get('client')?.split('.')[2] ?? 'x'))
})

test('what a reader is told has no host path, key or reason', async () => {
  for (const path of ['/api/health', '/api/agents']) {
    const { body, status } = await ask(port, 'GET', path, bearer('reader'))
    assert.equal(status, 200)
    assert.ok(!body.includes(home.layout.home) && !body.includes('127.0.0.1:9'), body)
  }
})

test('an agent whose sandbox can not be made answers 503 with its name', async () => {
  const headers = { ...bearer('client'), 'Content-Type': 'application/json' }
  const answer = await ask(port, 'POST', '/api/agents/scout/prompt', headers, '{"message":"x"}')
  assert.equal(answer.status, 503)
  assert.equal(JSON.parse(answer.body).error.code, 'agent_unavailable')
})

test('token-brute: wrong tokens from one address are stopped, within the minute the right one too', async () => {
  let status = 0
  for (let n = 0; n < 60 && status !== 429; n++)
    status = (
      await ask(
        port,
        'GET',
        '/api/health',
        { Authorization: `Bearer bgt_v1.00000000000${n % 10}.y` },
        undefined,
        '127.0.0.9',
      )
    ).status
  assert.equal(status, 429)
  assert.equal((await ask(port, 'GET', '/api/health', bearer('reader'), undefined, '127.0.0.9')).status, 429)
  assert.equal((await ask(port, 'GET', '/api/health', bearer('reader'))).status, 200)
  assert.equal((await ask(port, 'GET', '/livez')).status, 200)
})
