/** A stdin that stays open: written to by calls, no faster than the command reads, closed once. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { skip, startExecd, until } from './execd.ts'
import { jobOf, outputFrames, startAndLeave, stateOf, statusAndCode, textOf, untilExited } from './jobs.ts'

test('what is written arrives in order behind the first input, until eof', { skip }, async t => {
  const execd = await startExecd(t)
  const stdin = Buffer.from('first\n').toString('base64')
  await startAndLeave(execd, { ...jobOf('a', 'cat; echo end'), stdin, stdin_open: true })
  for (const line of ['second\n', '', 'third\n']) {
    const reply = await execd.send('POST', '/jobs/a/stdin?scope=s', line)
    assert.deepEqual(JSON.parse(reply.text), { written: line.length })
  }
  assert.equal((await execd.send('POST', '/jobs/a/stdin?scope=s&eof=1', 'last\n')).status, 200)
  assert.equal((await untilExited(execd, 'a')).exit_code, 0)
  assert.equal(textOf(await outputFrames(execd, 'a')), 'first\nsecond\nthird\nlast\nend\n')
  const late = await execd.send('POST', '/jobs/a/stdin?scope=s', 'x')
  assert.deepEqual(statusAndCode(late), [409, 'conflict'])
})

test('a large input waits for the command and comes through whole', { skip }, async t => {
  const execd = await startExecd(t)
  const script = 'until [ -e go ]; do sleep 0.02; done; wc -c'
  await startAndLeave(execd, { ...jobOf('a', script), stdin_open: true })
  const size = 8_000_000
  const written = execd.send('POST', '/jobs/a/stdin?scope=s&eof=1', Buffer.alloc(size, 'x'))
  await execd.run({ command: 'touch', args: ['go'] })
  assert.deepEqual(JSON.parse((await written).text), { written: size })
  await untilExited(execd, 'a')
  assert.equal(textOf(await outputFrames(execd, 'a')).trim(), `${size}`)
})

test('without stdin_open, or when nobody reads any more, a write is a conflict', { skip }, async t => {
  const execd = await startExecd(t)
  await startAndLeave(execd, jobOf('a', 'sleep 600'))
  const closed = await execd.send('POST', '/jobs/a/stdin?scope=s', 'x')
  assert.deepEqual(statusAndCode(closed), [409, 'conflict'])
  await startAndLeave(execd, { ...jobOf('b', 'exec <&-; echo closed; sleep 600'), stdin_open: true })
  await until('its stdin is closed', async () => (await stateOf(execd, 'b')).stdout_bytes > 0)
  const gone = await execd.send('POST', '/jobs/b/stdin?scope=s', Buffer.alloc(200_000))
  assert.deepEqual(statusAndCode(gone), [409, 'conflict'])
})

test('a kill ends a write that waits for a command which does not read', { skip }, async t => {
  const execd = await startExecd(t)
  await startAndLeave(execd, { ...jobOf('a', 'exec sleep 600'), stdin_open: true })
  const write = execd.send('POST', '/jobs/a/stdin?scope=s', Buffer.alloc(8_000_000))
  await until('the pipe is full', async () => (await stateOf(execd, 'a')).state === 'running')
  assert.equal((await execd.send('DELETE', '/jobs/a?scope=s')).status, 200)
  assert.deepEqual(statusAndCode(await write), [409, 'conflict'])
})

test('stdin that stays open needs somebody who can name the command', { skip }, async t => {
  const execd = await startExecd(t)
  const body = JSON.stringify({ command: 'cat', stdin_open: true })
  assert.deepEqual(statusAndCode(await execd.send('POST', '/', body)), [400, 'bad_request'])
})
