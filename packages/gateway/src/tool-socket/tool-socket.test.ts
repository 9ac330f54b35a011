import assert from 'node:assert/strict'
import { lstatSync, readlinkSync, statSync } from 'node:fs'
import { connect } from 'node:net'
import { dirname } from 'node:path'
import { test } from 'node:test'
import {
  encodeFrame,
  encodeJson,
  encodeU32,
  FIRST_WINDOW_BYTES,
  newCallId,
  newSessionId,
  systemClock,
  systemRandom,
  TOOL_FRAME,
  TOOL_PREAMBLE,
} from '@beige/protocol'
import { verifyAudit } from '../audit/verify.ts'
import {
  connectRaw,
  connectV2,
  done,
  echo,
  exchangeV1,
  git,
  openTestSocket,
  tool,
  wait,
} from './socket.fixture.ts'

const FUZZ_SEED = Number(process.env.FUZZ_SEED ?? 1)
const FUZZ_CASES = Number(process.env.FUZZ_CASES ?? 60)

test('v1 golden bytes: an answer, and the denial of the description', async () => {
  const place = await openTestSocket([git, echo], { allowed: ['git'] })
  const lines = await exchangeV1(
    place.scout.path,
    '{"type":"tool_request","tool":"git","args":["log","--oneline","-n","3"]}\n{"tool":"echo"}\nnonsense\n{"tool":7}\n',
    4,
  )
  assert.deepEqual(lines, [
    '{"type":"tool_response","success":true,"output":"1f0c2aa first\\n","exitCode":0}',
    `{"type":"tool_response","success":false,"error":"Permission denied: tool 'echo' not allowed for agent 'scout'","exitCode":1}`,
    '{"type":"tool_response","success":false,"error":"not a tool request: {\\"type\\":\\"tool_request\\",\\"tool\\":\\"…\\",\\"args\\":[…]}","exitCode":1}',
    '{"type":"tool_response","success":false,"error":"not a tool request: {\\"type\\":\\"tool_request\\",\\"tool\\":\\"…\\",\\"args\\":[…]}","exitCode":1}',
  ])
  await place.close()
  const told = place.records().map(({ phase, tool, decision, by, rule, origin, agent }) => ({
    phase,
    tool,
    decision,
    by,
    rule,
    origin,
    agent,
  }))
  const base = { origin: 'launcher', agent: 'scout' }
  assert.deepEqual(told, [
    { phase: 'start', tool: 'git', decision: 'allowed', by: undefined, rule: undefined, ...base },
    { phase: 'end', tool: 'git', decision: 'allowed', by: 'policy', rule: 'tools:git', ...base },
    { phase: 'end', tool: 'echo', decision: 'denied', by: 'policy', rule: 'default', ...base },
  ])
  assert.ok(verifyAudit(place.auditPath).ok)
})

test('a tool that nobody offers is denied like one that is not on the list', async () => {
  const place = await openTestSocket([git], { allowed: ['git', 'gone'] })
  const client = await connectV2(place.scout.path)
  client.send(TOOL_FRAME.request, 1, { tool: 'nothing', args: [] })
  const denied = await client.untilExit(1)
  assert.equal(denied.exit.exit_code, 1)
  assert.equal(denied.started, false)
  client.send(TOOL_FRAME.request, 2, { tool: 'gone', args: [] })
  assert.equal((await client.untilExit(2)).exit.exit_code, 127)
  client.socket.destroy()
  await place.close()
})

test('v2: welcome, started, both streams, stdin, exit code; argv of any bytes', async () => {
  const place = await openTestSocket([echo])
  const client = await connectV2(place.scout.path, { client: 'test' })
  const welcome = await client.next()
  assert.equal(welcome.type, TOOL_FRAME.welcome)
  assert.deepEqual(welcome.json, {
    version: 2,
    agent: 'scout',
    session: 'socket:scout',
    limits: { window_bytes: 262144, max_requests: 32, max_request_bytes: 1048576 },
  })
  const argv = [Buffer.from([0xff, 0x00]).toString('base64'), Buffer.from(' $(x)\n"').toString('base64'), '']
  client.send(TOOL_FRAME.request, 1, { tool: 'echo', args_b64: argv, cwd: '/workspace/x', stdin: true })
  client.send(TOOL_FRAME.stdin, 1, new Uint8Array([1, 2, 255]))
  client.send(TOOL_FRAME.stdin, 1, new Uint8Array())
  const answer = await client.untilExit(1)
  assert.ok(answer.started)
  assert.deepEqual(JSON.parse(answer.stdout.toString()), { args_b64: argv, cwd: '/workspace/x' })
  assert.deepEqual([...answer.stderr], [1, 2, 255])
  assert.deepEqual(answer.exit, { exit_code: 3, signal: null, timed_out: false, truncated: false })
  client.socket.destroy()
  await place.close()
})

test('a token gives a call its session; foreign, dead and guessed ones are refused', async () => {
  const place = await openTestSocket([git])
  const callId = newCallId(systemClock, systemRandom)
  const session = newSessionId(systemClock, systemRandom)
  const live = { session, run: 'e_1', channel: 'api', model: 'm' }
  const token = place.scout.book.openModelCall(callId, live, 'key').BEIGE_TOKEN ?? ''

  const client = await connectV2(place.scout.path, { token })
  const welcome = await client.next()
  assert.ok(typeof welcome.json === 'object' && welcome.json !== null && 'session' in welcome.json)
  assert.equal(welcome.json.session, session)
  client.send(TOOL_FRAME.request, 1, { tool: 'git', args: ['x'] })
  await client.untilExit(1)
  const start = place.records().find(record => record.phase === 'start')
  assert.deepEqual(
    [start?.session, start?.run, start?.parent, start?.channel],
    [session, 'e_1', callId, 'api'],
  )

  const refused = async (path: string, given: string) => {
    const other = await connectV2(path, { token: given })
    const frame = await other.next()
    assert.equal(frame.type, TOOL_FRAME.error)
    assert.ok(typeof frame.json === 'object' && frame.json !== null && 'code' in frame.json)
    await other.closed
    return frame.json.code
  }
  assert.equal(await refused(place.other.path, token), 'identity_mismatch')
  assert.equal(await refused(place.scout.path, `${token}0`), 'identity_mismatch')
  assert.equal(
    await refused(place.scout.path, token.replace(callId, newCallId(systemClock, systemRandom))),
    'identity_mismatch',
  )
  assert.equal(await refused(place.scout.path, 'x'.repeat(512)), 'identity_mismatch')
  assert.equal(await refused(place.scout.path, 'x'.repeat(60_000)), 'bad_request')
  place.tokens.close(callId)
  assert.equal(await refused(place.scout.path, token), 'identity_mismatch')
  client.socket.destroy()
  await place.close()
})

test('a stream torn at every byte gives the same calls', async () => {
  const place = await openTestSocket([echo])
  const wire = Buffer.concat([
    Buffer.from(TOOL_PREAMBLE),
    encodeFrame(TOOL_FRAME.hello, 0, encodeJson({})),
    encodeFrame(TOOL_FRAME.request, 9, encodeJson({ tool: 'echo', args: ['é'], stdin: true })),
    encodeFrame(TOOL_FRAME.stdin, 9, Buffer.from('abc')),
    encodeFrame(TOOL_FRAME.stdin, 9, new Uint8Array()),
  ])
  for (let cut = 1; cut < wire.length; cut++) {
    const client = await connectRaw(place.scout.path)
    client.socket.setNoDelay(true)
    await new Promise<void>(resolve => client.socket.write(wire.subarray(0, cut), () => resolve()))
    await new Promise<void>(resolve => setImmediate(resolve))
    client.socket.write(wire.subarray(cut))
    const answer = await client.untilExit(9)
    assert.equal(answer.stdout.toString(), '{"args":["é"]}')
    assert.equal(answer.stderr.toString(), 'abc')
    client.socket.destroy()
  }
  await place.close()
})

test('a closed connection cancels its calls; closing the socket waits for them', async () => {
  let running = 0
  const slow = tool('slow', async (_input, { signal, streams }) => {
    running++
    await streams?.stdout(Buffer.from('begun'))
    await new Promise(resolve => signal.addEventListener('abort', resolve, { once: true }))
    await new Promise(resolve => setTimeout(resolve, 20))
    running--
    return done(0)
  })
  const place = await openTestSocket([slow])
  const client = await connectV2(place.scout.path)
  client.send(TOOL_FRAME.request, 1, { tool: 'slow', args: [] })
  while ((await client.next()).type !== TOOL_FRAME.stdout);
  client.socket.destroy()
  await place.close()
  assert.equal(running, 0)
  const end = place.records().at(-1)
  assert.deepEqual([end?.phase, end?.tool], ['end', 'slow'])
})

test('back-pressure both ways: 64 MiB each direction with windows held', { timeout: 120_000 }, async () => {
  const TOTAL = 64 * 1_048_576
  let produced = 0
  const flood = tool('flood', async (_input, { streams }) => {
    const piece = new Uint8Array(65_536)
    for (; produced < TOTAL; produced += piece.length) await streams?.stdout(piece)
    return done(0)
  })
  let eaten = 0
  const eat = tool('eat', async (_input, { streams }) => {
    for await (const bytes of streams?.stdin ?? []) eaten += bytes.length
    return done(0)
  })
  const place = await openTestSocket([flood, eat])
  const client = await connectV2(place.scout.path)

  // A reader that does not read: the tool stands still at one window.
  client.send(TOOL_FRAME.request, 1, { tool: 'flood', args: [] })
  let got = 0
  let mostAhead = 0
  for (;;) {
    const frame = await client.next()
    if (frame.type === TOOL_FRAME.exit) break
    if (frame.type !== TOOL_FRAME.stdout) continue
    got += frame.payload.length
    mostAhead = Math.max(mostAhead, produced - got)
    client.send(TOOL_FRAME.window, 1, encodeU32(frame.payload.length))
  }
  assert.equal(got, TOTAL)
  assert.ok(mostAhead <= FIRST_WINDOW_BYTES + 131_072, `${mostAhead} bytes ahead`)

  client.send(TOOL_FRAME.request, 2, { tool: 'eat', args: [], stdin: true })
  let allowed = FIRST_WINDOW_BYTES
  let sent = 0
  const piece = new Uint8Array(32_768)
  while (sent < TOTAL) {
    while (allowed >= piece.length && sent < TOTAL) {
      client.send(TOOL_FRAME.stdin, 2, piece)
      sent += piece.length
      allowed -= piece.length
    }
    const frame = await client.next()
    if (frame.type === TOOL_FRAME.window) allowed += Buffer.from(frame.payload).readUInt32BE(0)
  }
  client.send(TOOL_FRAME.stdin, 2, new Uint8Array())
  assert.equal((await client.untilExit(2)).exit.exit_code, 0)
  assert.equal(eaten, TOTAL)
  client.socket.destroy()
  await place.close()
})

test('a sender that does not keep to its window is closed', async () => {
  const place = await openTestSocket([wait])
  const client = await connectV2(place.scout.path)
  client.send(TOOL_FRAME.request, 1, { tool: 'wait', args: [], stdin: true })
  for (let sent = 0; sent <= FIRST_WINDOW_BYTES; sent += 32_768)
    client.send(TOOL_FRAME.stdin, 1, new Uint8Array(32_768))
  await client.closed
  await place.close()
})

test(`random bytes never break the socket (seed ${FUZZ_SEED}, ${FUZZ_CASES} cases)`, async () => {
  const place = await openTestSocket([git], { idleMs: 60, helloMs: 60 })
  let state = FUZZ_SEED | 0 || 1
  const next = () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return state >>> 0
  }
  for (let round = 0; round < FUZZ_CASES; round++) {
    const client = connect(place.scout.path)
    const closed = new Promise(resolve => client.once('close', resolve).on('error', () => undefined))
    const start = next() % 3 === 0 ? '{' : TOOL_PREAMBLE
    const hello = next() % 2 === 0 ? encodeFrame(TOOL_FRAME.hello, 0, encodeJson({})) : new Uint8Array()
    const noise = Buffer.from(
      Array.from({ length: next() % 400 }, () => (next() % 4 === 0 ? 0 : next() % 256)),
    )
    client.resume().write(Buffer.concat([Buffer.from(start), hello, noise]))
    await closed
  }
  const [line] = await exchangeV1(place.scout.path, '{"tool":"git"}\n', 1)
  assert.match(line ?? '', /"success":true/)
  await place.close()
})

test("the socket is its owner's alone, has a link beside its folder, and a path of any length", async () => {
  const place = await openTestSocket([git])
  assert.equal(statSync(place.scout.path).mode & 0o777, 0o600)
  assert.equal(statSync(dirname(place.scout.path)).mode & 0o777, 0o700)
  assert.equal(readlinkSync(`${dirname(place.scout.path)}.sock`), 'scout/gateway.sock')
  await place.close()
  assert.equal(lstatSync(place.scout.path, { throwIfNoEntry: false }), undefined)
})
