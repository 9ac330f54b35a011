import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { ask, openTestGateway, type TestGateway } from '../lifecycle/gateway.fixture.ts'

let gateway: TestGateway
before(async () => {
  gateway = await openTestGateway()
})
after(() => gateway.close())

const BODIES: readonly string[] = [
  '',
  '{',
  '[]',
  '"x"',
  '{"message":""}',
  '{"message":7}',
  '{"message":"x","sesionKey":"y"}',
  `{"message":${'['.repeat(100_000)}`,
  `{"message":${'['.repeat(100)}${']'.repeat(100)}}`,
  '{"message":"x","__proto__":{"stream":true}}',
  '{"message":"x","stream":"yes"}',
  '{"message":"x","idempotency_key":"a b"}',
]

test('every malformed body is answered with a code and no stack, path or key', async () => {
  const headers = { ...gateway.bearer('owner'), 'Content-Type': 'application/json' }
  for (const body of BODIES) {
    const answer = await ask(gateway.port, 'POST', '/api/agents/scout/prompt', headers, body)
    assert.equal(answer.status, 400, `${body.slice(0, 40)}: ${answer.body}`)
    assert.equal(JSON.parse(answer.body).error.code, 'bad_request')
    assert.ok(!/\/(src|node_modules|home|tmp)\//.test(answer.body))
  }
})

test('bytes that are not UTF-8, wrong methods and paths', async () => {
  const { port, bearer } = gateway
  const headers = { ...bearer('owner'), 'Content-Type': 'application/json' }
  const latin = Buffer.from('{"message":"\u00e9"}', 'latin1').toString('latin1')
  assert.equal((await ask(port, 'PUT', '/api/health', bearer('owner'))).status, 405)
  assert.equal((await ask(port, 'GET', '/api/nothing', bearer('owner'))).status, 404)
  assert.equal((await ask(port, 'GET', '/api/agents/%ff/prompt', bearer('owner'))).status, 404)
  assert.equal((await ask(port, 'GET', `/api/health?${'x'.repeat(20_000)}`, bearer('owner'))).status, 431)
  assert.ok([400, 503].includes((await ask(port, 'POST', '/api/agents/scout/prompt', headers, latin)).status))
})
