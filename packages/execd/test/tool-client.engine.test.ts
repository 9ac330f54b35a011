/** The tool client against a gateway of this test: argv, input, outputs, ends. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { BINARY, skip } from './execd.ts'
import { type Call, FRAME, startGateway } from './fake-gateway.ts'

const END = { exit_code: 0, signal: null, timed_out: false, truncated: false }

test('name, argv, folder, token and client are sent as they are', { skip }, async t => {
  const calls: Call[] = []
  const gateway = await startGateway(t, call => {
    calls.push(call)
    call.send(FRAME.exit, END)
  })
  const args = ['log', '', 'a b', '"\n', '--', 'é']
  const { child, ended } = gateway.start('git', args, { env: { BEIGE_TOKEN: 'tok' } })
  child.stdin.end()
  assert.equal((await ended).code, 0)
  assert.deepEqual(calls[0]?.request, { tool: 'git', args, cwd: realpathSync(gateway.folder), stdin: true })
  assert.equal(calls[0]?.hello.token, 'tok')
  assert.match(calls[0]?.hello.client ?? '', /^execd\/\d/)
})

test('argv that is no text travels as base64, and stdin from /dev/null is none', { skip }, async t => {
  const calls: Call[] = []
  const gateway = await startGateway(t, call => {
    calls.push(call)
    call.send(FRAME.exit, END)
  })
  const { child, ended } = gateway.start('git', ['x'])
  child.stdin.end()
  await ended
  const script = `exec "$0" "$(printf '\\377')" plain </dev/null`
  const shell = spawnShell(script, join(gateway.folder, 'git'), { BEIGE_GATEWAY_SOCKET: gateway.socketPath })
  assert.equal(await shell, 0)
  assert.deepEqual(calls[1]?.request.args_b64, ['/w==', 'cGxhaW4='])
  assert.equal(calls[1]?.request.args, undefined)
  assert.equal(calls[1]?.request.stdin, false)
})

test('under the name tool-client the first argument is the tool', { skip }, async t => {
  const gateway = await startGateway(t, call => {
    call.send(FRAME.stdout, JSON.stringify(call.request.tool) + JSON.stringify(call.request.args))
    call.send(FRAME.exit, END)
  })
  const { child, ended } = gateway.start('tool-client', ['kv', 'get', 'x'])
  child.stdin.end()
  assert.equal((await ended).stdout.toString(), '"kv"["get","x"]')
})

test('both outputs come through as they are, 10 MB under the window', { skip }, async t => {
  const size = 10_000_000
  const gateway = await startGateway(t, async ({ send, frames }) => {
    send(FRAME.started, { call_id: 'c' })
    send(FRAME.stderr, 'warning')
    let [sent, allowed] = [0, 262_144 - 7]
    while (sent < size) {
      const part = Math.min(60_000, size - sent, allowed)
      if (part > 0) {
        send(FRAME.stdout, Buffer.alloc(part, sent % 256))
        sent += part
        allowed -= part
        continue
      }
      const { value } = await frames.next()
      if (value?.type === FRAME.window) allowed += value.payload.readUInt32BE(0)
    }
    send(FRAME.exit, { ...END, exit_code: 3 })
  })
  const { child, ended } = gateway.start('big')
  child.stdin.end()
  const { code, stdout, stderr } = await ended
  assert.deepEqual([code, stdout.length, stderr], [3, size, 'warning'])
})

test('stdin is streamed under its window, and its end is told', { skip }, async t => {
  let received = Buffer.alloc(0)
  let unanswered = 0
  const gateway = await startGateway(t, async ({ send, frames }) => {
    send(FRAME.started, { call_id: 'c' })
    for (;;) {
      const { value } = await frames.next()
      if (value?.type !== FRAME.stdin || value.payload.length === 0) break
      received = Buffer.concat([received, value.payload])
      unanswered += value.payload.length
      assert.ok(unanswered <= 262_144)
      const grant = Buffer.alloc(4)
      grant.writeUInt32BE(value.payload.length)
      unanswered -= value.payload.length
      send(FRAME.window, grant)
    }
    send(FRAME.exit, END)
  })
  const bytes = Buffer.alloc(2_000_000, Buffer.from(Array.from({ length: 251 }, (_, byte) => byte)))
  const { child, ended } = gateway.start('eat')
  child.stdin.end(bytes)
  assert.equal((await ended).code, 0)
  assert.ok(received.equals(bytes))
})

test('stdin stops at the window of a gateway that grants nothing', { skip }, async t => {
  let received = 0
  const gateway = await startGateway(t, async ({ send, frames }) => {
    send(FRAME.started, { call_id: 'c' })
    while (received < 262_144) received += (await frames.next()).value?.payload.length ?? 0
    send(FRAME.ping)
    assert.equal((await frames.next()).value?.type, FRAME.pong)
    send(FRAME.exit, END)
  })
  const { child, ended } = gateway.start('eat')
  child.stdin.write(Buffer.alloc(1_000_000))
  assert.equal((await ended).code, 0)
  assert.equal(received, 262_144)
})

test('ends: the tool’s own code, a signal, and each error with one line on stderr', { skip }, async t => {
  const ends = new Map<string, object>([
    ['5', { ...END, exit_code: 5 }],
    ['137', { ...END, exit_code: null, signal: 'SIGKILL' }],
    ['124', { ...END, exit_code: null, timed_out: true }],
    ['1', { ...END, exit_code: null, error: { code: 'denied', message: "Permission denied:\ntool 'x'" } }],
    ['127', { ...END, exit_code: null, error: { code: 'unknown_tool', message: 'unknown' } }],
    ['130', { ...END, exit_code: null, error: { code: 'cancelled', message: 'cancelled' } }],
  ])
  const gateway = await startGateway(t, ({ send, request }) =>
    send(FRAME.exit, ends.get(request.args?.[0] ?? '') ?? END),
  )
  for (const code of ends.keys()) {
    const { child, ended } = gateway.start('x', [code])
    child.stdin.end()
    const end = await ended
    assert.equal(end.code, Number(code))
    if (code === '1') assert.equal(end.stderr, "x: Permission denied: tool 'x'\n")
  }
})

test('SIGINT and SIGTERM cancel the call and wait for its end', { skip }, async t => {
  const gateway = await startGateway(t, async ({ send, frames }) => {
    send(FRAME.started, { call_id: 'c' })
    send(FRAME.stdout, 'up')
    for (;;) {
      const { value } = await frames.next()
      if (value?.type === FRAME.cancel) break
    }
    send(FRAME.stdout, ' down')
    send(FRAME.exit, { ...END, exit_code: null, error: { code: 'cancelled', message: 'cancelled' } })
  })
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    const { child, ended } = gateway.start('slow')
    child.stdout.once('data', () => child.kill(signal))
    const { code, stdout } = await ended
    assert.deepEqual([code, stdout.toString()], [130, 'up down'])
  }
})

test('without a gateway, or with one that goes away or speaks nonsense, it is 125', { skip }, async t => {
  const answers: ((call: Call) => void)[] = [
    ({ socket }) => socket.destroy(),
    ({ socket }) => socket.write('HTTP/1.1 400 Bad Request\r\n\r\n'),
    ({ send }) => send(FRAME.error, { code: 'limit', message: 'full' }),
    ({ send }) => send(FRAME.exit, 'not json'),
  ]
  const gateway = await startGateway(t, call => answers.shift()?.(call))
  for (const _ of Array(answers.length)) {
    const { child, ended } = gateway.start('x')
    child.stdin.end()
    const { code, stderr } = await ended
    assert.equal(code, 125)
    assert.match(stderr, /^x: .+\n$/)
  }
  const nobody = gateway.start('x', [], { env: { BEIGE_GATEWAY_SOCKET: '/no/such.sock' } })
  assert.equal((await nobody.ended).code, 125)
})

test('a socket whose path is relative or longer than an address', { skip }, async t => {
  const gateway = await startGateway(t, ({ send }) => send(FRAME.exit, END))
  const relative = gateway.start('x', [], { env: { BEIGE_GATEWAY_SOCKET: 'gateway.sock' } })
  assert.equal((await relative.ended).code, 0)
  const long = join(gateway.folder, 'long'.repeat(40))
  mkdirSync(long)
  const path = `${long}/../gateway.sock`
  assert.equal((await gateway.start('x', [], { env: { BEIGE_GATEWAY_SOCKET: path } }).ended).code, 0)
})

test('too many arguments are refused without a call', { skip }, () => {
  const { status, stderr } = spawnSync(BINARY, Array(5000).fill('a'), { argv0: 'x', encoding: 'utf8' })
  assert.equal(status, 126)
  assert.match(stderr, /^x: 5000 arguments/)
})

async function spawnShell(
  script: string,
  argv0: string,
  env: Record<string, string>,
): Promise<number | null> {
  const { spawn } = await import('node:child_process')
  const child = spawn('sh', ['-c', script, argv0], {
    env: { PATH: process.env.PATH ?? '', ...env },
    stdio: 'inherit',
  })
  return new Promise(resolve => child.once('exit', code => resolve(code)))
}
