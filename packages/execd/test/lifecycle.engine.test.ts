/** How execd starts, what it refuses to start with, and how it ends. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { BINARY, newMarker, processesWith, skip, startExecd, until } from './execd.ts'
import { freePort } from './free-port.ts'
import { TREES } from './trees.ts'

function startWith(env: Record<string, string>) {
  const { status, stderr } = spawnSync(BINARY, [], { env, timeout: 10_000, encoding: 'utf8' })
  return { status, stderr }
}

test('a bad value is exit 2 and one line that names the variable', { skip }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'execd-test-'))
  const open = join(folder, 'open-token')
  writeFileSync(open, 'token')
  chmodSync(open, 0o644)
  for (const [name, value] of [
    ['EXECD_LISTEN', '0.0.0.0:0'],
    ['EXECD_LISTEN', 'unix:/no/such/folder/x.sock'],
    ['EXECD_LISTEN', 'nonsense'],
    ['EXECD_PEERS', 'all'],
    ['EXECD_FORWARD', '127.0.0.1:1'],
    ['EXECD_ROOT', 'relative'],
    ['EXECD_RUN_AS', 'no-such-user'],
    ['EXECD_RUN_AS', 'root'],
    ['EXECD_BEARER_FILE', join(folder, 'missing')],
    ['EXECD_BEARER_FILE', open],
    ['EXECD_MAX_JOBS', '0'],
    ['EXECD_MAX_REQUEST_BYTES', 'x'],
    ['EXECD_IDLE_EXIT_S', '-1'],
    ['EXECD_LOG', 'debug'],
  ] as const) {
    const { status, stderr } = startWith({ EXECD_LISTEN: `unix:${folder}/exec.sock`, [name]: value })
    assert.deepEqual([status, stderr.trimEnd().split('\n').length], [2, 1], `${name}=${value}: ${stderr}`)
    assert.ok(stderr.startsWith(`execd: ${name}: `), stderr)
  }
  rmSync(folder, { recursive: true })
})

test('SIGTERM ends all commands, then execd with 0, and its socket is gone', { skip }, async t => {
  const execd = await startExecd(t)
  const marker = newMarker()
  const { frames } = await execd.stream({ command: 'sh', args: ['-c', TREES['all at once']?.(marker) ?? ''] })
  for await (const frame of frames) {
    if (frame.type === 'stdout') break
  }
  execd.kill('SIGTERM')
  assert.equal(await execd.ended, 0)
  assert.deepEqual(processesWith(marker), [])
  assert.equal(existsSync(execd.socketPath), false)
})

test('POST /shutdown ends all commands, answers, and ends execd', { skip }, async t => {
  const execd = await startExecd(t)
  const marker = newMarker()
  const { frames } = await execd.stream({ command: 'sh', args: ['-c', TREES.setsid?.(marker) ?? ''] })
  for await (const frame of frames) {
    if (frame.type === 'stdout') break
  }
  const reply = await execd.send('POST', '/shutdown')
  assert.equal(reply.status, 200)
  assert.deepEqual(processesWith(marker), [])
  assert.equal(await execd.ended, 0)
})

test('EXECD_IDLE_EXIT_S ends one that nobody comes back to, and not one in use', { skip }, async t => {
  const execd = await startExecd(t, { EXECD_IDLE_EXIT_S: '1' })
  const { frames } = await execd.stream({ command: 'sh', args: ['-c', 'sleep 2; echo done'] })
  const all = await Array.fromAsync(frames)
  assert.equal(all.at(-1)?.exit_code, 0)
  const socket = connect(execd.socketPath)
  await new Promise<void>(resolve => socket.once('connect', () => resolve()))
  socket.destroy()
  t.after(() => socket.destroy())
  await execd.send('GET', '/health', undefined, { Connection: 'close' })
  assert.equal(await execd.ended, 0)
})

test('a socket that is left over is replaced, one that answers is not', { skip }, async t => {
  const execd = await startExecd(t)
  const again = startWith({ EXECD_LISTEN: `unix:${execd.socketPath}` })
  assert.equal(again.status, 2)
  execd.kill('SIGKILL')
  await execd.ended
  assert.equal(existsSync(execd.socketPath), true)
  const next = await startExecd(t, { EXECD_LISTEN: `unix:${execd.socketPath}` })
  assert.equal((await execd.send('GET', '/health')).status, 200)
  assert.notEqual(next.pid, execd.pid)
})

test('a path that is longer than a socket address', { skip }, async t => {
  const base = await startExecd(t)
  const folder = join(base.folder, 'long'.repeat(40))
  mkdirSync(folder)
  const path = join(folder, 'exec.sock')
  await startExecd(t, { EXECD_LISTEN: `unix:${path}` })
  assert.equal(existsSync(path), true)
})

test('over TCP, without a token, no web page is served', { skip }, async t => {
  const port = await freePort()
  await startExecd(t, { EXECD_LISTEN: `127.0.0.1:${port}` })
  const ask = (headers: Record<string, string>) =>
    new Promise<string>(resolve => {
      const socket = connect(port, '127.0.0.1')
      let text = ''
      socket.on('data', data => {
        text += data
      })
      socket.once('close', () => resolve(text))
      const lines = Object.entries({ Connection: 'close', ...headers }).map(
        ([name, value]) => `${name}: ${value}`,
      )
      socket.write(`GET /health HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`)
    })
  assert.match(await ask({ Host: `127.0.0.1:${port}` }), /^HTTP\/1\.1 200/)
  assert.match(await ask({ Host: 'localhost' }), /^HTTP\/1\.1 200/)
  assert.match(await ask({ Host: `127.0.0.1:${port}`, Origin: 'https://example.com' }), /^HTTP\/1\.1 401/)
  assert.match(await ask({ Host: 'rebound.example.com' }), /^HTTP\/1\.1 401/)
})

test('an idle execd sleeps: nothing switches to it', { skip }, async t => {
  const execd = await startExecd(t)
  await execd.send('GET', '/health', undefined, { Connection: 'close' })
  const switches = () =>
    /voluntary_ctxt_switches:\s+(\d+)/.exec(readFileSync(`/proc/${execd.pid}/status`, 'utf8'))?.[1]
  let [last, same] = [switches(), 0]
  await until('fifty looks in a row see no switch', () => {
    const now = switches()
    same = now === last ? same + 1 : 0
    last = now
    return same >= 50
  })
})
