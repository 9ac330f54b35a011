import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { ask, openTestGateway, ROUTES, type TestGateway } from '../lifecycle/gateway.fixture.ts'

let gateway: TestGateway
before(async () => {
  gateway = await openTestGateway()
})
after(() => gateway.close())

test('forms and plain text, as a page may send them without asking, change nothing', async () => {
  const types = [
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data',
    '',
    'application/json; charset=utf-16',
  ]
  for (const [method, path] of ROUTES.filter(([method]) => method === 'POST'))
    for (const type of types) {
      const headers = { ...gateway.bearer('owner'), 'Content-Type': type }
      assert.equal((await ask(gateway.port, method, path, headers, '{}')).status, 415, `${path} ${type}`)
    }
  assert.equal(gateway.stopAsked(), 0)
})

test('an encoded body is refused before it is unpacked', async () => {
  const headers = {
    ...gateway.bearer('owner'),
    'Content-Type': 'application/json',
    'Content-Encoding': 'gzip',
  }
  assert.equal((await ask(gateway.port, 'POST', '/api/gateway/stop', headers, '{}')).status, 415)
})
