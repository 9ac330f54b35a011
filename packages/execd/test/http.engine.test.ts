/** The transport: what is refused, and how; who may ask. */
import assert from 'node:assert/strict'
import { chmodSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { codeOf, type Execd, skip, startExecd } from './execd.ts'

/** All that comes back for these bytes. */
function raw(execd: Execd, bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(execd.socketPath)
    let text = ''
    socket.on('data', data => {
      text += data
    })
    socket.once('error', reject)
    socket.once('close', () => resolve(text))
    socket.write(bytes)
  })
}

test('health says what there is', { skip }, async t => {
  const execd = await startExecd(t)
  const health = JSON.parse((await execd.send('GET', '/health')).text)
  assert.equal(health.protocol, 'exec/2')
  assert.match(health.instance, /^[0-9a-f]{32}$/)
  assert.deepEqual(health.features, ['stream', 'jobs', 'notify', 'files', 'fence'])
  assert.equal(health.limits.max_response_bytes, 16_777_216)
})

test('what could be read in two ways is a 400 and ends the connection', { skip }, async t => {
  const execd = await startExecd(t)
  for (const lines of [
    'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\n{}',
    'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}',
    'POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: identity\r\n\r\n',
    'POST / HTTP/1.0\r\nHost: x\r\n\r\n',
    'nonsense\r\n\r\n',
    `GET /health HTTP/1.1\r\nHost: x\r\nX: ${'y'.repeat(40_000)}\r\n\r\n`,
  ]) {
    const reply = await raw(execd, lines)
    assert.match(reply, /^HTTP\/1\.1 400 /, lines)
    assert.match(reply, /"code":"bad_request"/)
  }
})

test('requests follow one another on a connection, also when sent at once', { skip }, async t => {
  const execd = await startExecd(t)
  const health = 'GET /health HTTP/1.1\r\nHost: x\r\n\r\n'
  const chunked =
    'POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nc\r\n{"command":"\r\n6\r\ntrue"}\r\n0\r\n\r\n'
  const last = 'GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'
  const reply = await raw(execd, health + chunked + last)
  assert.equal(reply.match(/HTTP\/1\.1 200 OK/g)?.length, 3)
  assert.match(reply, /"exit_code":0/)
})

test('malformed bodies are a 400 with a code', { skip }, async t => {
  const execd = await startExecd(t)
  for (const body of [
    '',
    '{',
    '[]',
    '{"command":""}',
    '{"command":"a","timeout":1}',
    '{"command":"a","job":{"id":"x","keep":true}}',
  ]) {
    const reply = await execd.send('POST', '/', body)
    assert.deepEqual([reply.status, codeOf(reply)], [400, 'bad_request'], body)
  }
})

test('what is not there is not_found, and a wrong method says so', { skip }, async t => {
  const execd = await startExecd(t)
  for (const [method, path] of [
    ['GET', '/jobs/x'],
    ['DELETE', '/jobs/x?scope=s'],
    ['PUT', '/jobs/x'],
    ['GET', '/scopes/x'],
    ['GET', '/x'],
  ] as const) {
    const reply = await execd.send(method, path)
    assert.deepEqual([reply.status, codeOf(reply)], [404, 'not_found'], path)
  }
  assert.equal((await execd.send('PUT', '/health')).status, 405)
  assert.equal((await execd.send('GET', '/')).status, 405)
})

test('a request over its bound is refused, with or without a length, and the answer arrives', {
  skip,
}, async t => {
  const execd = await startExecd(t, { EXECD_MAX_REQUEST_BYTES: '100000' })
  const body = JSON.stringify({ command: 'true', stdin: 'A'.repeat(3_000_000) })
  const long = await execd.send('POST', '/', body)
  assert.deepEqual([long.status, codeOf(long)], [413, 'too_large'])
  const chunked = await execd.send('POST', '/', body, { 'Transfer-Encoding': 'chunked' })
  assert.deepEqual([chunked.status, codeOf(chunked)], [413, 'too_large'])
  assert.equal((await execd.send('POST', '/', JSON.stringify({ command: 'true' }))).status, 200)
})

test('a token is asked for, and a wrong one gets no detail', { skip }, async t => {
  const token = 'secret-token'
  const folder = await startExecd(t)
  const file = join(folder.folder, 'token')
  writeFileSync(file, `${token}\n`)
  chmodSync(file, 0o600)
  const execd = await startExecd(t, { EXECD_BEARER_FILE: file })
  for (const authorization of [
    '',
    'Bearer',
    'Bearer x',
    `Basic ${token}`,
    `Bearer ${token}x`,
    `Bearer ${token.slice(1)}`,
  ]) {
    const reply = await execd.send('GET', '/health', undefined, authorization ? { authorization } : {})
    assert.equal(reply.status, 401, authorization)
    assert.equal(reply.text, '{"error":{"code":"unauthorized","message":"unauthorized"}}')
  }
  assert.equal(
    (await execd.send('GET', '/health', undefined, { authorization: `Bearer ${token}` })).status,
    200,
  )
})

test('a lower fence is refused on every call, and starts nothing', { skip }, async t => {
  const execd = await startExecd(t)
  const run = (fence: string) =>
    execd.send('POST', '/', JSON.stringify({ command: 'true' }), { 'X-Exec-Fence': fence })
  assert.equal((await run('s1 5')).status, 200)
  const refused = await run('s1 4')
  assert.deepEqual([refused.status, codeOf(refused)], [409, 'conflict'])
  assert.equal((await run('s2 1')).status, 200)
  assert.equal((await run('s1 6')).status, 200)
  assert.equal((await execd.send('GET', '/health', undefined, { 'X-Exec-Fence': 's1 5' })).status, 409)
  assert.equal((await run('nonsense')).status, 400)
})
