/** EXECD_FORWARD: a loopback port is a Unix socket somewhere else. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { skip, startExecd } from './execd.ts'
import { freePort } from './free-port.ts'

async function startForward(t: TestContext, serve: (socket: Socket) => void) {
  const folder = mkdtempSync(join(tmpdir(), 'forward-test-'))
  const path = join(folder, 'far.sock')
  const server = createServer({ allowHalfOpen: true }, serve).listen(path)
  await new Promise<void>(resolve => server.once('listening', () => resolve()))
  t.after(() => {
    server.close()
    rmSync(folder, { recursive: true })
  })
  const port = await freePort()
  const execd = await startExecd(t, { EXECD_FORWARD: `127.0.0.1:${port}=${path}` })
  return { execd, port, server }
}

test('bytes go both ways, and the end of one way leaves the other open', { skip }, async t => {
  const { port } = await startForward(t, socket => {
    let size = 0
    socket.on('data', data => {
      size += data.length
    })
    socket.on('end', () => socket.end(Buffer.alloc(size, 'y')))
  })
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  socket.end(Buffer.alloc(5_000_000))
  let received = 0
  for await (const part of socket) received += part.length
  assert.equal(received, 5_000_000)
})

test('where nobody listens the connection is closed', { skip }, async t => {
  const { port, server } = await startForward(t, () => {})
  await new Promise<void>(resolve => server.close(() => resolve()))
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  await new Promise<void>(resolve => socket.once('close', () => resolve()))
})

test('many at once, each with its own bytes, from inside a command', { skip }, async t => {
  const { execd, port } = await startForward(t, socket => socket.pipe(socket))
  const script = `
    const { connect } = require('node:net')
    const ask = text => new Promise(resolve => {
      const socket = connect(${port}, '127.0.0.1', () => socket.end(text))
      let got = ''
      socket.on('data', data => { got += data }).on('close', () => resolve(got))
    })
    Promise.all(Array.from({ length: 30 }, (_, index) => ask('n' + index))).then(all => console.log(all.join()))`
  const { stdout } = await execd.run({ command: process.execPath, args: ['-e', script] })
  assert.equal(stdout.toString(), `${Array.from({ length: 30 }, (_, index) => `n${index}`).join()}\n`)
})
