/** H35: a reader sees the old file or the new one, never a part; mode and owner stay; a stale writer is refused. */
import assert from 'node:assert/strict'
import { chmodSync, chownSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { codeOf, needsRoot, skip, startExecd, until } from './execd.ts'

test('a reader beside many writes sees whole files only', { skip }, async t => {
  const execd = await startExecd(t)
  const texts = ['a', 'b'].map(letter => letter.repeat(300_000))
  await execd.send('PUT', '/files?path=f', texts[0])
  let isWriting = true
  const writing = (async () => {
    for (let round = 0; round < 20; round++) await execd.send('PUT', '/files?path=f', texts[round % 2])
    isWriting = false
  })()
  let reads = 0
  while (isWriting) {
    const text = readFileSync(join(execd.root, 'f'), 'utf8')
    assert.ok(texts.includes(text))
    assert.ok(texts.includes((await execd.send('GET', '/files?path=f')).text))
    reads++
  }
  await writing
  assert.ok(reads > 0)
  assert.deepEqual(readdirSync(execd.root), ['f'])
})

test('the mode of the old file, an asked mode, and what the umask leaves for a new one', {
  skip,
}, async t => {
  const execd = await startExecd(t)
  const file = join(execd.root, 'f')
  const mode = () => statSync(file).mode & 0o7777
  writeFileSync(file, 'old')
  chmodSync(file, 0o751)
  await execd.send('PUT', '/files?path=f', 'new')
  assert.equal(mode(), 0o751)
  await execd.send('PUT', '/files?path=f', 'new', { 'X-File-Mode': '0600' })
  assert.equal(mode(), 0o600)
  assert.equal((await execd.send('PUT', '/files?path=f', 'new', { 'X-File-Mode': '9' })).status, 400)
  await execd.send('PUT', '/files?path=g', 'new')
  assert.equal(statSync(join(execd.root, 'g')).mode & 0o7777, 0o666 & ~process.umask())
})

test('the owner of the old file', { skip: needsRoot }, async t => {
  const execd = await startExecd(t)
  const file = join(execd.root, 'f')
  writeFileSync(file, 'old')
  chownSync(file, 4242, 4343)
  await execd.send('PUT', '/files?path=f', 'new')
  assert.deepEqual([statSync(file).uid, statSync(file).gid], [4242, 4343])
})

test('If-Match refuses who has not seen the last version', { skip }, async t => {
  const execd = await startExecd(t)
  const write = (text: string, etag: string) => execd.send('PUT', '/files?path=f', text, { 'If-Match': etag })
  const missing = await write('x', '*')
  assert.deepEqual([missing.status, codeOf(missing)], [412, 'conflict'])
  const first = (await execd.send('PUT', '/files?path=f', 'one')).headers.etag ?? ''
  assert.equal((await write('two', first)).status, 200)
  assert.equal((await write('three', first)).status, 412)
  assert.equal((await execd.send('GET', '/files?path=f')).text, 'two')
  const etag = (await execd.send('GET', '/files?path=f')).headers.etag ?? ''
  const both = await Promise.all([write('left', etag), write('right', etag)])
  assert.deepEqual(both.map(reply => reply.status).sort(), [200, 412])
})

test('a write that is broken off leaves the old file and nothing beside it', { skip }, async t => {
  const execd = await startExecd(t)
  await execd.send('PUT', '/files?path=f', 'old')
  const socket = connect(execd.socketPath)
  socket.on('error', () => {})
  socket.write(
    `PUT /files?path=f HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n${'x'.repeat(100_000)}`,
  )
  await until('the new file has begun', () => readdirSync(execd.root).length === 2)
  socket.destroy()
  await until('it is gone', () => readdirSync(execd.root).length === 1)
  assert.equal(readFileSync(join(execd.root, 'f'), 'utf8'), 'old')
})
