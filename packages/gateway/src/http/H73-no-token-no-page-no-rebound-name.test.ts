import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { ask, askRaw, openTestGateway, ROUTES, type TestGateway } from '../lifecycle/gateway.fixture.ts'

let gateway: TestGateway
before(async () => {
  gateway = await openTestGateway()
})
after(() => gateway.close())

test('every route: no token, a wrong, an expired, one in the URL, one of too small a scope', async () => {
  const { port, bearer, token } = gateway
  const allowed = { client: ['read', 'prompt', 'llm'], reader: ['read'] } as const
  for (const [method, path, scope] of ROUTES) {
    const status = async (headers: Record<string, string>) => (await ask(port, method, path, headers)).status
    assert.equal(await status({}), 401, `${method} ${path}`)
    assert.equal(await status({ Authorization: 'Bearer bgt_v1.000000000000.x' }), 401)
    assert.equal(await status({ Authorization: `Basic ${token('owner')}` }), 401)
    assert.equal(await status(bearer('expired')), 401)
    for (const name of ['client', 'reader'] as const)
      if (!allowed[name].some(one => one === scope))
        assert.equal(await status(bearer(name)), 403, `${method} ${path} as ${name}`)
    const inUrl = await ask(port, method, `${path}?token=${token('owner')}`)
    assert.equal(inUrl.status, 401, 'a token in a URL is none')
  }
  assert.equal(gateway.stopAsked(), 0)
  assert.ok(!gateway.lines.join('\n').includes(token('owner')))
})

test('every route: names that somebody pointed here, and pages', async () => {
  const { port, bearer } = gateway
  for (const [method, path] of ROUTES) {
    const status = async (headers: Record<string, string>) =>
      (await ask(port, method, path, { ...bearer('owner'), ...headers })).status
    for (const host of ['evil.example.com', 'localhost.evil.com', 'beige.example.com.evil.com'])
      assert.equal(await status({ Host: host }), 403, `${path} for ${host}`)
    for (const origin of ['https://evil.example.com', 'null', 'http://localhost', 'chrome-extension://x'])
      assert.equal(await status({ Origin: origin }), 403, `${path} from ${origin}`)
    for (const site of ['cross-site', 'same-site', 'same-origin'])
      assert.equal(await status({ 'Sec-Fetch-Site': site }), 403)
    const upgrade = { Upgrade: 'websocket', Connection: 'Upgrade', Origin: 'https://evil.example.com' }
    assert.equal(await status(upgrade), 403)
  }
  const health = async (headers: Record<string, string>) =>
    (await ask(port, 'GET', '/api/health', { ...bearer('owner'), ...headers })).status
  for (const host of ['localhost', `127.0.0.1:${port}`, '[::1]', 'beige.example.com', 'LOCALHOST:1'])
    assert.equal(await health({ Host: host }), 200, host)
  assert.equal(await health({ Origin: 'https://ui.example.com' }), 200)
})

test('what can not be parsed for certain is refused and closed', async () => {
  const auth = `Authorization: Bearer ${gateway.token('owner')}`
  const get = 'GET /api/health HTTP/1.1'
  const post = ['POST /api/tokens HTTP/1.1', auth, 'Host: localhost']
  const bad: readonly [status: number, head: readonly string[]][] = [
    [400, [get, auth]],
    [400, [get, auth, 'Host: ']],
    [400, [get, auth, 'Host: a b']],
    [400, [get, auth, 'Host: http://localhost']],
    [400, [get, auth, 'Host: localhost', 'Host: localhost']],
    [400, [get, auth, 'Host: localhost', 'Host : localhost']],
    [431, [get, auth, `Host: ${'x'.repeat(65_536)}`]],
    [400, [...post, 'Content-Length: 2', 'Content-Length: 3']],
    [400, [...post, 'Content-Length: 2', 'Transfer-Encoding: chunked']],
    [400, ['GET /api/health', 'Host: localhost']],
    [400, ['GET /api/health HTTP/1.0', auth, 'Host: localhost']],
    [400, ['\u0016\u0003\u0001']],
  ]
  for (const [status, head] of bad)
    assert.equal(await askRaw(gateway.port, head), status, head.join(' | ').slice(0, 200))
})

test('the open routes say one word', async () => {
  const { port } = gateway
  assert.equal((await ask(port, 'GET', '/livez')).body, '{"status":"ok"}\n')
  assert.equal((await ask(port, 'GET', '/readyz')).body, '{"status":"ready"}\n')
  assert.equal((await ask(port, 'POST', '/livez')).status, 405)
  assert.equal((await ask(port, 'GET', '/livez/')).status, 401)
})

test('guessing from one address is stopped, also for the right token, and others are served', async () => {
  const { port, bearer } = gateway
  const from = '127.0.0.9'
  let status = 0
  for (let n = 0; n < 60 && status !== 429; n++) {
    const guess = { Authorization: `Bearer bgt_v1.00000000000${n % 10}.y` }
    status = (await ask(port, 'GET', '/api/health', guess, undefined, from)).status
  }
  assert.equal(status, 429)
  assert.equal((await ask(port, 'GET', '/api/health', bearer('reader'), undefined, from)).status, 429)
  assert.equal((await ask(port, 'GET', '/api/health', bearer('reader'))).status, 200)
})
