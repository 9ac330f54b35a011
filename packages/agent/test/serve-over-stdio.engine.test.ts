/** `agent serve` on stdin and stdout, as another program drives it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { frame } from '@beige/protocol'
import { type Turn, taskScript } from '@beige/test-support'
import { compile } from '@earendil-works/pi-schema'
import { type AgentChild, agentBench } from './agent-bench.ts'

const isFrame = compile(frame).check
const SILENT: Turn = { text: 'It goes on and on. '.repeat(20), fault: { kind: 'silence', afterEvents: 6 } }

/** Ends stdin and answers what came out, every line of which is a frame. */
async function closed(child: AgentChild): Promise<Record<string, unknown>[]> {
  child.process.stdin.end()
  const { code, stdout, stderr } = await child.ended
  assert.equal(code, 0, stderr)
  const frames = stdout
    .trimEnd()
    .split('\n')
    .map((line): unknown => JSON.parse(line))
  for (const one of frames) assert.ok(isFrame(one), JSON.stringify(one))
  const [ready, ...others] = frames.map(one => Object(one))
  assert.equal(ready.type, 'ready')
  assert.ok(others.every(one => one.type !== 'ready'))
  return others
}

const responseTo = (frames: Record<string, unknown>[], id: string) =>
  frames.filter(one => one.type === 'response' && one.id === id)

test('ready, ack, events, response; then state and messages of what was said', async () => {
  await using bench = await agentBench(taskScript([{ text: 'Hello.' }]))
  const child = bench.start(['serve', '--session-id', 's_served'])
  await child.frame({ type: 'ready', session_id: 's_served', run_id: null })
  child.send({ type: 'prompt', id: '1', message: 'hi' })
  await child.frame({ type: 'response', id: '1' })
  for (const type of ['get_state', 'get_messages', 'ping']) child.send({ type, id: type })
  const frames = await closed(child)
  const order = frames.map(one => one.type)
  assert.equal(order[0], 'ack')
  assert.ok(order.indexOf('event') < order.indexOf('response'))
  const dataOf = (id: string) => Object(responseTo(frames, id)[0]?.data)
  assert.equal(dataOf('1').text, 'Hello.')
  assert.equal(dataOf('get_state').is_streaming, false)
  assert.equal(dataOf('get_state').message_count, 2)
  assert.deepEqual(
    dataOf('get_messages').messages.map((message: { role: string }) => message.role),
    ['user', 'assistant'],
  )
  assert.equal(typeof dataOf('ping').now, 'number')
})

test('a second prompt is busy, an abort ends the first, and a third one runs', async () => {
  let asked = 0
  await using bench = await agentBench(() => (asked++ === 0 ? SILENT : { text: 'Here.' }))
  const child = bench.start(['serve'])
  child.send({ type: 'prompt', id: '1', message: 'first' })
  await child.frame({ type: 'event', event: { kind: 'stream', type: 'text_delta' } })
  child.send({ type: 'prompt', id: '2', message: 'second' })
  child.send({ type: 'get_state', id: 's' })
  child.send({ type: 'abort', id: 'a' })
  await child.frame({ type: 'response', id: '1' })
  await child.frame({ type: 'response', id: 'a' })
  child.send({ type: 'prompt', id: '3', message: 'third' })
  await child.frame({ type: 'response', id: '3' })
  const frames = await closed(child)
  const codes = ['1', '2', 'a', '3'].map(id => responseTo(frames, id)[0]?.code ?? 'ok')
  assert.deepEqual(codes, ['aborted', 'busy', 'ok', 'ok'])
  assert.equal(Object(responseTo(frames, 's')[0]?.data).is_streaming, true)
  assert.deepEqual(bench.server.refusals, [])
})

test('what is no command is answered, and the session goes on', async () => {
  await using bench = await agentBench([])
  const child = bench.start(['serve'])
  const lines: readonly [string | Buffer, string][] = [
    ['{"type":', 'bad_request'],
    [Buffer.from([0xff, 0xfe, 0x00]), 'bad_request'],
    ['[1]', 'bad_request'],
    ['null', 'bad_request'],
    ['{"type":"shout","id":"x"}', 'unknown_command'],
    ['{"type":"prompt"}', 'bad_request'],
    [JSON.stringify({ type: 'prompt', message: 'm'.repeat(9 * 1024 * 1024) }), 'too_large'],
    ['{"type":"get_messages","limit":0}', 'bad_request'],
  ]
  for (const [line] of lines) {
    child.process.stdin.write(line)
    child.process.stdin.write('\n\n')
  }
  child.send({ type: 'ping', id: 'alive' })
  await child.frame({ type: 'response', id: 'alive' })
  const frames = await closed(child)
  assert.deepEqual(
    frames.map(one => one.code ?? 'ok'),
    [...lines.map(([, code]) => code), 'ok'],
  )
  for (const one of frames.slice(0, -1)) assert.equal(typeof one.error, 'string')
  assert.match(String(frames[6]?.error), /longer than 8388608 bytes/)
})

test('the end of stdin in a run: what was read is answered, the run is recorded as aborted', async () => {
  await using bench = await agentBench(() => SILENT)
  const child = bench.start(['serve', '--session-id', 's_closed'])
  child.send({ type: 'prompt', id: '1', message: 'tell' })
  child.send({ type: 'get_state', id: '2' })
  const frames = await closed(child)
  assert.equal(responseTo(frames, '1')[0]?.code, 'aborted')
  assert.equal(responseTo(frames, '2').length, 1)
  // Nothing is left open: the next owner takes the session at once and finds no run to go on with.
  const again = await bench.agent(['serve', '--session-id', 's_closed'])
  const [ready] = again.stdout.split('\n').map(line => JSON.parse(line || 'null'))
  assert.equal(ready.run_id, null)
  assert.ok(!/waiting/.test(again.stderr))
})

test('a run that was cut off goes on when serve starts, and its viewer sees all of it', async () => {
  let asked = 0
  await using bench = await agentBench(() => (asked++ === 0 ? SILENT : { text: 'All of it.' }))
  const first = bench.start(['serve', '--session-id', 's_cut'])
  first.send({ type: 'prompt', id: '1', message: 'tell' })
  await first.frame({ type: 'event', event: { kind: 'stream' } })
  first.process.kill('SIGKILL')
  const { stdout } = await first.ended
  const runId = stdout.match(/"run_id":"(\w+)"/)?.[1]
  const second = bench.start(['serve', '--session-id', 's_cut'])
  await second.frame({ type: 'ready', run_id: runId })
  await second.frame({ type: 'event', event: { kind: 'agent_end', outcome: 'done' } })
  second.send({ type: 'get_messages', id: 'm' })
  const frames = await closed(second)
  const kinds = frames.flatMap(one => (one.type === 'event' ? [Object(one.event).kind] : []))
  assert.equal(kinds[0], 'agent_start')
  const { messages } = Object(responseTo(frames, 'm')[0]?.data)
  assert.equal(messages.at(-1).content[0].text, 'All of it.')
  assert.deepEqual(bench.server.refusals, [])
})
