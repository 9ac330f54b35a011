/** `agent serve` on every listener, as other programs reach it. Every frame is checked against the published schema. */
import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { geteuid } from 'node:process'
import { test } from 'node:test'
import { COMMAND_TYPES } from '@beige/protocol'
import { echoScript, type Turn, taskScript } from '@beige/test-support'
import { agentBench, isRecord } from './agent-bench.ts'
import { connectTo, post, served } from './serve-bench.ts'

const LOOPBACK = ['--listen', '127.0.0.1:0']

test('a prompt POSTed three times with one key ran once; after kill -9 the fourth POST answers with its result', async () => {
  await using bench = await agentBench(taskScript([{ text: 'the answer' }]))
  const prompt = { type: 'prompt', message: 'ask', idempotency_key: 'k' }
  const first = await served(bench, LOOPBACK)
  const answers = await Promise.all([1, 2, 3].map(() => first.post(prompt, { session: 's_posted' })))
  assert.ok(answers.every(({ status }) => status === 202 || status === 200))
  assert.equal(new Set(answers.map(({ headers }) => headers['x-run-id'])).size, 1)
  const run = await first.post(
    { type: 'get_run', idempotency_key: 'k', wait_ms: 20_000 },
    { session: 's_posted' },
  )
  assert.ok(isRecord(run.body) && isRecord(run.body.data) && run.body.data.state === 'done')
  first.child.process.kill('SIGKILL')
  await first.child.ended
  const second = await served(bench, LOOPBACK)
  const fourth = await second.post(prompt, { session: 's_posted' })
  assert.equal(fourth.status, 200)
  assert.ok(isRecord(fourth.body) && isRecord(fourth.body.data))
  assert.equal(fourth.body.data.text, 'the answer')
  assert.equal(fourth.headers['x-run-id'], answers[0]?.headers['x-run-id'])
  assert.equal(bench.seen.length, 1)
  const other = await second.post({ ...prompt, message: 'another' }, { session: 's_posted' })
  assert.ok(isRecord(other.body) && other.body.code === 'conflict')
  assert.equal((await second.post(prompt)).status, 400, 'a key without a session')
})

test('every command is answered over WebSocket and over POST, by the same host', async () => {
  await using bench = await agentBench(echoScript)
  const server = await served(bench, LOOPBACK)
  const client = await server.connect('session_id=s_ws')
  client.send({ type: 'prompt', id: 'p', message: 'hello' })
  assert.equal((await client.response('p')).success, true)
  const moves = ['fork', 'clone', 'switch_session', 'new_session', 'prompt']
  for (const type of COMMAND_TYPES.filter(name => !moves.includes(name))) {
    client.send({ type, id: type })
    const response = await client.response(type)
    assert.equal(response.command, type)
    const posted = await server.post({ type, id: type }, { session: 's_ws' })
    assert.equal(posted.status, 200, type)
    assert.ok(isRecord(posted.body) && posted.body.id === type)
    assert.deepEqual([posted.body.success, posted.body.code], [response.success, response.code], type)
  }
  client.send({ type: 'fork', id: 'fork' })
  const fork = await client.response('fork')
  const moved = await client.frame(
    frame => frame.type === 'ready' && frame.session_id === fork.data?.session_id,
  )
  assert.ok(moved.type === 'ready')
  client.send({ type: 'get_last_assistant_text', id: 't' })
  assert.match(String((await client.response('t')).data?.text), /hello/)
})

test('a command of the client runs in the sandbox, is recorded, and is told to the model', async () => {
  await using bench = await agentBench(echoScript)
  const server = await served(bench, LOOPBACK)
  const client = await server.connect('session_id=s_bash')
  client.send({ type: 'bash', id: 'b', command: 'echo out; exit 3', idempotency_key: 'k' })
  const { data } = await client.response('b')
  assert.deepEqual([data?.exit_code, data?.is_error, data?.cancelled], [3, true, false])
  assert.match(String(data?.result), /^out\n/)
  client.send({ type: 'bash', id: 'again', command: 'echo out; exit 3', idempotency_key: 'k' })
  assert.deepEqual((await client.response('again')).data, data)
  client.send({ type: 'bash', id: 'long', command: 'sleep 600' })
  await client.frame(frame => frame.type === 'ack' && frame.id === 'long')
  client.send({ type: 'prompt', id: 'busy', message: 'now' })
  assert.equal((await client.response('busy')).code, 'busy')
  client.send({ type: 'abort_bash', id: 'stop' })
  assert.equal((await client.response('stop')).success, true)
  assert.equal((await client.response('long')).data?.cancelled, true)
  client.send({ type: 'prompt', id: 'p', message: 'and?' })
  await client.response('p')
  assert.match(JSON.stringify(bench.seen.at(-1)?.messages), /user_command.*echo out; exit 3/)
})

test('an edit is asked about with its diff, a command with its text; what was denied has not happened', async () => {
  const turns: Turn[] = [
    { calls: [{ name: 'write', input: { path: 'note.txt', content: 'new\n' } }] },
    { calls: [{ name: 'write', input: { path: 'other.txt', content: 'x\n' } }] },
    { text: 'done' },
  ]
  await using bench = await agentBench(taskScript(turns))
  bench.write('note.txt', 'old\n')
  const server = await served(bench, [...LOOPBACK, '--approve', 'all'])
  const client = await server.connect('session_id=s_ask')
  client.send({ type: 'prompt', id: 'p', message: 'go' })
  const asked = await client.frame(frame => frame.type === 'approval_request')
  assert.ok(asked.type === 'approval_request')
  assert.match(asked.preview ?? '', /-old\n\+new/)
  assert.match(asked.summary, /^write .*note\.txt \(\+1 -1\)$/)
  assert.equal(readFileSync(join(bench.workspace, 'note.txt'), 'utf8'), 'old\n', 'nothing has happened yet')
  client.send({ type: 'approve', request_id: asked.request_id, decision: 'allow' })
  const second = await client.frame(
    frame => frame.type === 'approval_request' && frame.request_id !== asked.request_id,
  )
  assert.ok(second.type === 'approval_request')
  client.send({ type: 'approve', request_id: second.request_id, decision: 'deny', reason: 'no' })
  assert.equal((await client.response('p')).success, true)
  assert.equal(readFileSync(join(bench.workspace, 'note.txt'), 'utf8'), 'new\n')
  assert.equal(existsSync(join(bench.workspace, 'other.txt')), false)
})

test('a viewer that does not read is told of its gap; the one beside it has every frame', async () => {
  await using bench = await agentBench([])
  const server = await served(bench, [...LOOPBACK, '--no-session-persistence'])
  const driver = await server.connect('session_id=s_slow')
  const slow = await server.connect('session_id=s_slow&role=view')
  await slow.frame(frame => frame.type === 'ready')
  slow.socket.pause()
  const title = 't'.repeat(1000)
  const count = 16_000 // more than the buffers of both sockets and the window hold
  for (let n = 0; n < count; n += 500) {
    for (let k = 0; k < 499; k++) driver.send({ type: 'set_session_name', title })
    driver.send({ type: 'set_session_name', id: `n${n}`, title })
    await driver.response(`n${n}`)
  }
  assert.ok(driver.taken.length >= count)
  slow.socket.resume()
  await slow.frame(frame => frame.type === 'gap')
  driver.send({ type: 'set_session_name', id: 'last', title: 'at last' })
  await driver.response('last')
  await slow.frame(frame => frame.type === 'session_info_changed' && frame.title === 'at last')
  assert.ok(slow.gaps.every(reason => reason === 'slow'))
  assert.equal(slow.seq(), driver.seq())
})

test('an event stream shows the same frames and goes on by Last-Event-ID', async () => {
  await using bench = await agentBench(echoScript)
  const server = await served(bench, LOOPBACK)
  const url = `http://${server.address}/_beyond/agent?session_id=s_sse`
  const headers = { Accept: 'text/event-stream' }
  const client = await server.connect('session_id=s_sse')
  client.send({ type: 'prompt', id: 'p', message: 'hi' })
  await client.response('p')
  const after = client.taken[3] ?? 0
  const stop = new AbortController()
  const response = await fetch(url, {
    headers: { ...headers, 'Last-Event-ID': String(after) },
    signal: stop.signal,
  })
  assert.equal(response.headers.get('x-session-id'), 's_sse')
  const ids: number[] = []
  let text = ''
  for await (const chunk of response.body ?? []) {
    text += Buffer.from(chunk).toString()
    ids.splice(0, ids.length, ...[...text.matchAll(/^id: (\d+)$/gm)].map(match => Number(match[1])))
    if (ids.at(-1) === client.seq()) break
  }
  stop.abort()
  assert.deepEqual(ids.slice(1), client.taken.slice(4))
})

test('who may not: another user without a token, a page, a wrong path, a removed token', async () => {
  await using bench = await agentBench(echoScript)
  const tokens = join(bench.home, 'serve-tokens')
  const server = await served(bench, LOOPBACK)
  assert.equal(statSync(tokens).mode & 0o777, 0o600)
  const [token = ''] = readFileSync(tokens, 'utf8').split(' ')
  const bearer = { Authorization: `Bearer ${token}` }
  const ping = { type: 'ping' }
  const status = async (headers: Record<string, string>, more = {}) =>
    (await server.post(ping, { session: 's', headers, ...more })).status
  assert.equal(await status({}), 200, 'the same user')
  assert.equal(await status({ Via: '1.1 proxy' }), 401)
  assert.equal(await status({ Via: '1.1 proxy', ...bearer }), 200)
  assert.equal(await status({ Host: 'evil.example' }), 403)
  assert.equal(await status({ Origin: 'https://evil.example', ...bearer }), 403)
  assert.equal(await status({ 'Content-Type': 'text/plain' }), 415)
  assert.equal(await status({}, { path: '/elsewhere' }), 404)
  assert.equal(await status({}, { method: 'PUT' }), 405)
  assert.equal(await status({ 'X-Large': 'x'.repeat(17_000) }, {}).catch(() => 431), 431)
  for (const headers of [{ Origin: 'https://evil.example' }, { Host: 'evil.example' }] as const) {
    await assert.rejects(server.connect('session_id=s', { headers: { ...headers } }), { status: 403 })
  }
  if (geteuid?.() === 0) {
    const curl = [
      '-s',
      '-o',
      '/dev/null',
      '-w',
      '%{http_code}',
      `http://${server.address}/_beyond/agent?session_id=s`,
    ]
    const asNobody = ['--reuid=65534', '--regid=65534', '--clear-groups', 'curl', ...curl]
    assert.equal(execFileSync('setpriv', asNobody, { encoding: 'utf8' }), '401')
  }
  writeFileSync(tokens, `${token} drive\nlooker view phone\n`)
  const phone = await untilAdmitted(() =>
    server.connect('session_id=s', { protocols: ['beige.v1', 'bearer.looker'], headers: { Via: 'x' } }),
  )
  assert.equal(phone.socket.protocol, 'beige.v1')
  phone.send({ type: 'prompt', id: 'p', message: 'hi' })
  assert.equal((await phone.response('p')).code, 'forbidden')
  writeFileSync(tokens, `${token} drive\n`)
  assert.equal(await phone.closed, 4401)
})

/** A token file is looked at once a second. */
async function untilAdmitted<T>(attempt: () => Promise<T>): Promise<T> {
  for (let tries = 0; ; tries++) {
    try {
      return await attempt()
    } catch (error) {
      if (tries === 8) throw error
      await new Promise(resolve => setTimeout(resolve, 500))
    }
  }
}

test('an address that others reach is refused without TLS; with TLS it is served, and a bad pair keeps the old one', async t => {
  await using bench = await agentBench(echoScript)
  const open = await bench.agent(['serve', '--listen', '0.0.0.0:0'])
  assert.equal(open.code, 2)
  assert.match(open.stderr, /travel in the clear/)
  const [cert, key] = [join(bench.home, 'cert.pem'), join(bench.home, 'key.pem')]
  mkdirSync(bench.home, { recursive: true })
  try {
    const made = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=localhost']
    execFileSync('openssl', [...made, '-keyout', key, '-out', cert], { stdio: 'ignore' })
  } catch {
    return t.skip('absent: openssl')
  }
  const tls = ['--tls-listen', '127.0.0.1:0', '--tls-cert', cert, '--tls-key', key]
  const server = await served(bench, tls)
  const [{ address } = { address: '' }] = server.listeners
  const [token = ''] = readFileSync(join(bench.home, 'serve-tokens'), 'utf8').split(' ')
  const headers = { Authorization: `Bearer ${token}` }
  await assert.rejects(connectTo(`wss://${address}`, 'session_id=s'), { status: 401 }, 'TLS has no same user')
  const client = await connectTo(`wss://${address}`, 'session_id=s', { headers })
  client.send({ type: 'ping', id: '1' })
  assert.equal((await client.response('1')).success, true)
  writeFileSync(cert, 'nonsense')
  server.child.process.kill('SIGHUP')
  const again = await connectTo(`wss://${address}`, 'session_id=s', { headers })
  again.send({ type: 'ping', id: '2' })
  assert.equal((await again.response('2')).success, true)
})

test('a Unix socket: mode, stale and living ones, what is no socket, a folder of everybody', async () => {
  await using bench = await agentBench(echoScript)
  mkdirSync(bench.home, { recursive: true })
  const path = join(bench.home, 'agent.sock')
  const first = await served(bench, ['--listen-uds', path])
  assert.equal(statSync(path).mode & 0o777, 0o600)
  const answer = await post('', { type: 'ping' }, { session: 's', socketPath: path, headers: { Host: 'x' } })
  assert.equal(answer.status, 200)
  const page = await post(
    '',
    { type: 'ping' },
    { session: 's', socketPath: path, headers: { Origin: 'http://x' } },
  )
  assert.equal(page.status, 403)
  const taken = await bench.agent(['serve', '--listen-uds', path])
  assert.deepEqual([taken.code, /somebody listens there/.test(taken.stderr)], [2, true], taken.stderr)
  first.child.process.kill('SIGKILL')
  await first.child.ended
  const second = await served(bench, ['--listen-uds', path, '--listen-uds-mode', '0660'])
  assert.equal(statSync(path).mode & 0o777, 0o660, 'a stale one is replaced')
  second.child.process.kill('SIGTERM')
  assert.equal((await second.child.ended).code, 143)
  assert.equal(existsSync(path), false)
  writeFileSync(path, 'a file')
  assert.equal((await bench.agent(['serve', '--listen-uds', path])).code, 2)
  assert.equal(readFileSync(path, 'utf8'), 'a file')
  const shared = join(bench.home, 'shared')
  mkdirSync(shared)
  chmodSync(shared, 0o777)
  assert.equal((await bench.agent(['serve', '--listen-uds', join(shared, 'a.sock')])).code, 2)
})

test('a service manager hands over the descriptor; another process id is refused', async () => {
  await using bench = await agentBench(echoScript)
  const holder = createServer()
  holder.listen(0, '127.0.0.1')
  await once(holder, 'listening')
  const handle: unknown = Reflect.get(holder, '_handle')
  const fd = typeof handle === 'object' && handle !== null ? Number(Reflect.get(handle, 'fd')) : -1
  const command = [...bench.argv, 'serve', '--sandbox', 'host'].map(word => `'${word}'`).join(' ')
  const start = (pid: string) =>
    spawn('sh', ['-c', `LISTEN_FDS=1 LISTEN_PID=${pid} exec ${command}`], {
      cwd: bench.workspace,
      env: bench.env,
      stdio: ['ignore', 'pipe', 'pipe', fd],
    })
  const wrong = start('1')
  assert.deepEqual((await once(wrong, 'exit'))[0], 2)
  const child = start('$$')
  try {
    assert.ok(child.stdout)
    const [line] = await once(child.stdout, 'data')
    const { listeners } = JSON.parse(String(line))
    const address = holder.address()
    assert.equal(listeners[0].address, `127.0.0.1:${typeof address === 'object' ? address?.port : ''}`)
    holder.close()
    assert.equal((await post(listeners[0].address, { type: 'ping' }, { session: 's' })).status, 200)
  } finally {
    child.kill('SIGKILL')
  }
})
