import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { after, before, test } from 'node:test'
import { openTestGateway, type TestGateway } from '../lifecycle/gateway.fixture.ts'

let gateway: TestGateway
before(async () => {
  gateway = await openTestGateway()
})
after(() => gateway.close())

/** Sends chunks until the gateway says something; answers with that and how much it took until then. */
function flood(head: string, chunk: string): Promise<{ said: string; sentBytes: number }> {
  return new Promise(resolve => {
    const socket = connect({ host: '127.0.0.1', port: gateway.port })
    let said = ''
    let sentBytes = 0
    const pump = () => {
      while (said === '' && !socket.destroyed && sentBytes < 100_000_000) {
        sentBytes += chunk.length
        if (!socket.write(chunk)) return
      }
    }
    socket.on('drain', pump)
    socket.on('data', data => {
      said += data.toString('latin1')
      socket.destroy()
    })
    socket.on('error', () => undefined)
    socket.once('close', () => resolve({ said, sentBytes }))
    socket.write(head, pump)
  })
}
const head = (more: string) =>
  `POST /api/agents/scout/prompt HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${gateway.token('owner')}\r\nContent-Type: application/json\r\n${more}\r\n\r\n`

test('a body that announces too much is refused before it is read', async () => {
  const { said } = await flood(head('Content-Length: 99999999'), 'x'.repeat(65_536))
  assert.match(said, /^HTTP\/1\.1 413 /)
  assert.match(said, /body_too_large/)
})

test('a body that announces nothing is cut where the limit is', async () => {
  const size = 65_536
  const chunk = `${size.toString(16)}\r\n${'x'.repeat(size)}\r\n`
  const { said, sentBytes } = await flood(head('Transfer-Encoding: chunked'), chunk)
  assert.match(said, /^HTTP\/1\.1 413 /)
  assert.ok(sentBytes < 40_000_000, `${sentBytes} bytes were taken`)
})
