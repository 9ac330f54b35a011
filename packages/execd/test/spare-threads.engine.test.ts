/** Where no more threads are to be had, a caller waits for one, and not for the end of somebody else's connection. */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { BINARY, needsRoot } from './execd.ts'
import { freePort } from './free-port.ts'

const UID = 54_321 // nobody's, so that the limit counts this execd alone
const TASKS = 4 // the main thread, two spare ones, and one for a connection
const hasTools = spawnSync('setpriv', ['--version']).status === 0
const skip = needsRoot || (hasTools ? false : 'absent: setpriv (util-linux)')

test('a caller without a thread gets the next that is free', { skip, timeout: 30_000 }, async t => {
  const port = await freePort()
  const limits = [`--reuid=${UID}`, '--clear-groups', 'prlimit', `--nproc=${TASKS}`, BINARY]
  const env = { PATH: process.env.PATH ?? '', EXECD_LISTEN: `127.0.0.1:${port}`, EXECD_LOG: 'info' }
  const execd = spawn('setpriv', limits, { env, stdio: ['ignore', 'ignore', 'pipe'] })
  t.after(() => execd.kill('SIGKILL'))
  await once(execd.stderr, 'data')
  const first = await caller(t, port)
  const [second, third] = [await caller(t, port), await caller(t, port)]
  for (const socket of [first, second, third]) assert.match(await ask(socket), /^HTTP\/1\.1 200/)
  const fourth = await caller(t, port)
  const answer = ask(fourth)
  // It takes what the first one had; the spare threads stay with the second and the third.
  first.destroy()
  assert.match(await answer, /^HTTP\/1\.1 200/)
  for (const socket of [second, third]) assert.match(await ask(socket), /^HTTP\/1\.1 200/)
})

async function caller(t: TestContext, port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  t.after(() => socket.destroy())
  await once(socket, 'connect')
  return socket
}

async function ask(socket: Socket): Promise<string> {
  socket.write('GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n')
  const [bytes]: unknown[] = await once(socket, 'data')
  return String(bytes)
}
