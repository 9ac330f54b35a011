import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, test } from 'node:test'
import { ask, openTestGateway, type TestGateway } from '../lifecycle/gateway.fixture.ts'

let gateway: TestGateway
before(async () => {
  gateway = await openTestGateway()
})
after(() => gateway.close())

test('an unknown agent, session or token is 404, and nothing is made', async () => {
  const headers = { ...gateway.bearer('owner'), 'Content-Type': 'application/json' }
  const before = readFileSync(gateway.layout.tokens, 'utf8')
  const unknown: readonly [method: string, path: string, body?: string][] = [
    ['POST', '/api/agents/sout/prompt', '{"message":"x"}'],
    ['POST', '/api/sessions/api%3Ascout%3Anever/abort', '{}'],
    ['DELETE', '/api/tokens/000000000000'],
    ['POST', '/api/tokens', '{"name":"x","scopes":["read"],"agents":["nobody"],"expiresAt":null}'],
  ]
  for (const [method, path, body] of unknown) {
    const answer = await ask(gateway.port, method, path, headers, body)
    assert.equal(answer.status, 404, `${path}: ${answer.body}`)
  }
  const sout = await ask(gateway.port, 'POST', '/api/agents/sout/prompt', headers, '{"message":"x"}')
  assert.match(JSON.parse(sout.body).error.message, /did you mean "scout"/)
  assert.equal(readFileSync(gateway.layout.tokens, 'utf8'), before)
})

test('a token sees its own agents alone; what it does not see does not exist', async () => {
  const { port, bearer } = gateway
  assert.deepEqual(JSON.parse((await ask(port, 'GET', '/api/agents', bearer('elsewhere'))).body), {
    agents: [],
  })
  const headers = { ...bearer('elsewhere'), 'Content-Type': 'application/json' }
  const answer = await ask(port, 'POST', '/api/agents/scout/prompt', headers, '{"message":"x"}')
  assert.equal(answer.status, 404)
  assert.ok(!answer.body.includes('did you mean'))
})
