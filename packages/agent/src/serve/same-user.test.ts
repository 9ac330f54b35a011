import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { test } from 'node:test'
import { isSameUser } from './same-user.ts'

const UID = process.getuid?.() ?? -1
const HEAD =
  '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n'
const row = (state: string, uid: number, inode: number) =>
  `   0: 0100007F:1F90 0100007F:0050 ${state} 00000000:00000000 00:00000000 00000000  ${uid}        0 ${inode} 1 0000\n`
const SOCKET = { localAddress: '127.0.0.1', localPort: 80, remoteAddress: '127.0.0.1', remotePort: 8080 }

for (const host of ['127.0.0.1', '::1']) {
  test(`our own connection is found in the kernel's table, another user's is none (${host})`, async t => {
    const server = createServer()
    server.listen(0, host)
    const isThere = await Promise.race([
      once(server, 'listening').then(() => true),
      once(server, 'error').then(() => false),
    ])
    if (!isThere) return t.skip('absent: IPv6 loopback')
    const { port } = server.address() as AddressInfo
    const accepted = once(server, 'connection')
    const client = connect(port, host)
    const [socket] = (await accepted) as [Socket]
    assert.equal(isSameUser(socket, UID), true)
    assert.equal(isSameUser(socket, UID + 1), false)
    client.destroy()
    socket.destroy()
    server.close()
  })
}

test('only an established socket with an inode and our uid counts, and only on loopback', () => {
  const says = (text: string, socket = SOCKET) =>
    isSameUser(socket, 1000, path => (path.endsWith('tcp') ? HEAD + text : ''))
  assert.equal(says(row('01', 1000, 77)), true)
  assert.equal(says(row('01', 0, 77)), false)
  assert.equal(says(row('01', 1000, 0)), false, 'nobody holds it any more')
  assert.equal(says(row('06', 1000, 77)), false)
  assert.equal(says(''), false)
  assert.equal(says(row('01', 1000, 77), { ...SOCKET, remoteAddress: '10.0.0.7' }), false)
})
