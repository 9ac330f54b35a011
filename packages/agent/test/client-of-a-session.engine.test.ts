/** `@beige/client` against the real `agent serve`: stdio, TCP and a Unix socket, with connections that are cut. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { connectSession, type Dialer, stdioDialer, webSocketDialer } from '@beige/client'
import { type Frame, isError } from '@beige/protocol'
import { type Turn, taskScript } from '@beige/test-support'
import { type AgentBench, agentBench } from './agent-bench.ts'

const LONG: Turn = { text: 'It goes on and on. '.repeat(200) }
const CUTS = 25
const CUT_AFTER_BYTES = 1500

async function listening(bench: AgentBench, ...args: readonly string[]): Promise<string> {
  const child = bench.start(['serve', ...args])
  await child.lines(1)
  const [line] = child.json()
  return String(Object(line).listeners[0].address)
}

for (const [name, dialerOf] of [
  [
    'stdio',
    async (bench: AgentBench) => {
      const [program = '', ...words] = bench.argv
      return stdioDialer({
        command: [program, ...words, 'serve', '--session-id', 's_1'],
        cwd: bench.workspace,
        env: { ...bench.env },
        onLog: () => {},
      })
    },
  ],
  [
    'TCP',
    async (bench: AgentBench) =>
      webSocketDialer({ url: `http://${await listening(bench, '--listen', '127.0.0.1:0')}` }),
  ],
  [
    'a Unix socket',
    async (bench: AgentBench) => {
      const path = join(bench.home, '..', 'agent.sock')
      await listening(bench, '--listen-uds', path)
      return webSocketDialer({ url: `unix:${path}` })
    },
  ],
] satisfies [string, (bench: AgentBench) => Promise<Dialer>][])
  test(`a prompt over ${name}: accepted, its events, its result; then the state`, async () => {
    await using bench = await agentBench(taskScript([{ text: 'Hello.' }, { text: 'Again.' }]))
    await using session = await connectSession({ dialer: await dialerOf(bench), sessionId: 's_1' })
    assert.equal(session.ready.session_id, 's_1')
    const run = session.prompt('hi')
    const kinds: string[] = []
    for await (const event of run) kinds.push(event.kind)
    const { runId, isDuplicate } = await run.accepted
    const result = await run.result
    assert.deepEqual([result.text, result.run_id, isDuplicate], ['Hello.', runId, false])
    assert.ok(kinds.includes('stream') && kinds.at(-1) === 'agent_end', kinds.join(' '))
    assert.equal((await session.command('get_state', {})).message_count, 2)
    await assert.rejects(session.command('get_messages', { since: 'e_none' }), error =>
      isError(error, 'unknown_id'),
    )
  })

test('a session that exists is found again, with what was said', async () => {
  await using bench = await agentBench(taskScript([{ text: 'Hello.' }]))
  const url = `http://${await listening(bench, '--listen', '127.0.0.1:0')}`
  const first = await connectSession({ dialer: webSocketDialer({ url }), sessionId: 's_1' })
  await first.prompt('hi').result
  await first.close()
  const frames: Frame[] = []
  await using second = await connectSession({
    dialer: webSocketDialer({ url }),
    sessionId: 's_1',
    onFrame: one => void frames.push(one),
  })
  await second.command('ping', {})
  const catchup = frames.find(one => one.type === 'catchup')
  assert.deepEqual(
    catchup?.data.messages.map(one => one.role),
    ['user', 'assistant'],
  )
})

test('cut again and again in the middle of a run: every event once, in order, and the prompt ran once', async () => {
  await using bench = await agentBench(taskScript([LONG, { text: 'A second run.' }]))
  const address = await listening(bench, '--listen', '127.0.0.1:0')
  await using proxy = await cuttingProxy(Number(address.split(':').at(-1)))
  const numbers: number[] = []
  let text = ''
  let reconnects = 0
  const session = await connectSession({
    dialer: webSocketDialer({ url: `http://127.0.0.1:${proxy.port}` }),
    sessionId: 's_1',
    onState: state => {
      if (state.is === 'reconnecting') reconnects += 1
    },
    onFrame: frame => {
      if (frame.type !== 'event') return
      numbers.push(frame.seq)
      if (frame.event.kind === 'stream' && frame.event.type === 'text_delta')
        text += String(Object(frame.event).text)
    },
    // The waits are the server's business, not this test's.
    random: { bytes: count => new Uint8Array(count) },
  })
  const result = await session.prompt('go on and on').result
  await session.close()
  assert.equal(result.text, LONG.text)
  assert.equal(text, LONG.text)
  assert.ok(reconnects >= 3, `${reconnects} cuts`)
  assert.deepEqual(
    numbers,
    [...new Set(numbers)].sort((a, b) => a - b),
  )
  assert.equal(bench.seen.length, 1)
})

test('a server that is not there, one that refuses, and a URL that is none are told apart', async () => {
  await using bench = await agentBench(taskScript([]))
  const url = `http://${await listening(bench, '--listen', '127.0.0.1:0', '--require-token')}`
  const at = (dialer: Dialer) => connectSession({ dialer, sessionId: 's_1' })
  await assert.rejects(at(webSocketDialer({ url: 'http://127.0.0.1:1' })), error =>
    isError(error, 'no_connection'),
  )
  await assert.rejects(at(webSocketDialer({ url, token: 'wrong' })), error => isError(error, 'refused'))
  assert.throws(
    () => webSocketDialer({ url: 'nowhere' }),
    error => isError(error, 'no_connection'),
  )
  await assert.rejects(at(stdioDialer({ command: ['/no/such/program'] })), error =>
    isError(error, 'no_connection'),
  )
})

/** Hands bytes on and cuts the connection after some of them, so often, wherever that is. */
async function cuttingProxy(target: number): Promise<AsyncDisposable & { port: number }> {
  let cuts = 0
  const sockets = new Set<Socket>()
  const server = createServer(near => {
    const far = connect(target, '127.0.0.1')
    let passed = 0
    const limit = cuts++ < CUTS ? CUT_AFTER_BYTES * cuts : Number.POSITIVE_INFINITY
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(one)
      one.on('error', () => {})
      one.on('close', () => other.destroy())
    }
    near.on('data', chunk => far.write(chunk))
    far.on('data', chunk => {
      near.write(chunk.subarray(0, Math.max(0, limit - passed)))
      passed += chunk.length
      if (passed >= limit) near.destroySoon()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  return {
    port: typeof address === 'object' && address ? address.port : 0,
    [Symbol.asyncDispose]: async () => {
      for (const one of sockets) one.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
