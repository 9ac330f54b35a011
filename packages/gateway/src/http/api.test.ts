import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, test } from 'node:test'
import { ask, openTestGateway, type TestGateway } from '../lifecycle/gateway.fixture.ts'

let gateway: TestGateway
before(async () => {
  gateway = await openTestGateway()
})
after(() => gateway.close())

test('a token is made, works, is kept as a hash alone, and ends when it is revoked', async () => {
  const { port, bearer, layout } = gateway
  const headers = { ...bearer('owner'), 'Content-Type': 'application/json' }
  const body = JSON.stringify({ name: 'ci', scopes: ['read'], agents: ['scout'], expiresAt: null })
  const made = JSON.parse((await ask(port, 'POST', '/api/tokens', headers, body)).body)
  const mine = { Authorization: `Bearer ${made.token}` }
  assert.equal((await ask(port, 'GET', '/api/health', mine)).status, 200)
  assert.ok(!readFileSync(layout.tokens, 'utf8').includes(made.token.split('.')[2]))
  assert.ok(!(await ask(port, 'GET', '/api/tokens', bearer('owner'))).body.includes('hash'))
  assert.equal((await ask(port, 'DELETE', `/api/tokens/${made.id}`, bearer('owner'))).status, 200)
  assert.equal((await ask(port, 'GET', '/api/health', mine)).status, 401)
  const audit = readFileSync(layout.audit, 'utf8')
  assert.match(audit, /"type":"admin","event":"token.create","details":\{"by":"owner","name":"ci"/)
  assert.match(audit, /"event":"token.revoke"/)
  assert.ok(!audit.includes(made.token))
})

test('what a reader is told has no host path, key or reason', async () => {
  for (const path of ['/api/health', '/api/agents']) {
    const { body, status } = await ask(gateway.port, 'GET', path, gateway.bearer('reader'))
    assert.equal(status, 200)
    assert.ok(!body.includes(gateway.layout.home) && !body.includes('127.0.0.1:9'), body)
  }
})

test('an agent whose sandbox can not be made answers 503 with its name', async () => {
  const headers = { ...gateway.bearer('client'), 'Content-Type': 'application/json' }
  const answer = await ask(gateway.port, 'POST', '/api/agents/scout/prompt', headers, '{"message":"x"}')
  assert.equal(answer.status, 503)
  assert.equal(JSON.parse(answer.body).error.code, 'agent_unavailable')
  assert.ok(!answer.body.includes('127.0.0.1'))
})

test('a listed origin may ask by preflight and read answers; another one gets no header', async () => {
  const asked = { 'Access-Control-Request-Method': 'POST' }
  const preflight = await ask(gateway.port, 'OPTIONS', '/api/health', {
    Origin: 'https://ui.example.com',
    ...asked,
  })
  assert.equal(preflight.status, 204)
  assert.equal(preflight.headers['access-control-allow-origin'], 'https://ui.example.com')
  const evil = await ask(gateway.port, 'OPTIONS', '/api/health', {
    Origin: 'https://evil.example.com',
    ...asked,
  })
  assert.equal(evil.status, 403)
  assert.equal(evil.headers['access-control-allow-origin'], undefined)
})

test('a stop that is asked for is passed on', async () => {
  const headers = { ...gateway.bearer('owner'), 'Content-Type': 'application/json' }
  assert.equal((await ask(gateway.port, 'POST', '/api/gateway/stop', headers, '{}')).status, 202)
  assert.equal(gateway.stopAsked(), 1)
})
