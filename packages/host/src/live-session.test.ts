import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Frame } from '@beige/protocol'
import { taskScript } from '@beige/test-support'
import { hostBench, response } from '../test/host-bench.ts'

const callTo = (to: number) => ({ calls: [{ name: 'count', input: { to } }] })

test('H07-prompt-durable-before-ack: the record is in the log when the ack is sent', async () => {
  await using bench = await hostBench([{ text: 'hello' }])
  const live = await bench.open()
  let atAck: string[] | null = null
  const viewer = bench.viewer(frame => {
    if (frame.type === 'ack') atAck = bench.durableTypes()
  })
  live.attach(viewer)
  await live.handle({ type: 'prompt', id: '1', message: 'hi' }, viewer)
  assert.deepEqual(atAck, ['session', 'prompt'])
  const answer = response(viewer.frames, '1')
  assert.equal(answer?.success, true)
  assert.equal(answer?.data?.text, 'hello')
  assert.equal(bench.durableTypes().at(-1), 'run_end', 'the end is durable before the response')
})

test('numbered frames count up by one for every viewer; a private one repeats the last number', async () => {
  await using bench = await hostBench(taskScript([callTo(1), { text: 'done' }]))
  const live = await bench.open()
  const first = bench.viewer()
  const second = bench.viewer()
  live.attach(first)
  live.attach(second)
  await live.handle({ type: 'prompt', message: 'go' }, first)
  await live.handle({ type: 'get_state', id: 's' }, second)
  const numbered = first.frames.filter(frame => frame.type !== 'ready').map(frame => frame.seq)
  assert.ok(numbered.length > 5)
  for (const [index, seq] of numbered.entries()) assert.equal(seq, (numbered[0] ?? 0) + index)
  assert.equal(Math.floor((numbered[0] ?? 0) / 2 ** 32), live.session.log.epoch)
  const shared = (frames: readonly Frame[]) => frames.filter(frame => frame.type === 'event')
  assert.deepEqual(shared(second.frames), shared(first.frames))
  assert.equal(response(second.frames, 's')?.seq, numbered.at(-1))
})

test('a repeated key runs once and answers twice; with another message it is a conflict', async () => {
  await using bench = await hostBench(taskScript([{ text: 'once' }]))
  const live = await bench.open()
  const viewer = bench.viewer()
  live.attach(viewer)
  const prompt = { type: 'prompt', message: 'go', idempotency_key: 'k1' }
  await Promise.all([live.handle({ ...prompt, id: 'a' }, viewer)])
  await live.handle({ ...prompt, id: 'b' }, viewer)
  await live.handle({ ...prompt, id: 'c', message: 'other' }, viewer)
  assert.deepEqual(response(viewer.frames, 'b')?.data, response(viewer.frames, 'a')?.data)
  assert.ok(viewer.frames.some(frame => frame.type === 'ack' && frame.duplicate === true))
  assert.equal(response(viewer.frames, 'c')?.code, 'conflict')
  assert.equal(bench.requests(), 1)
})

test('H20-abort-is-answered-when-the-tool-has-ended: and the run is recorded as aborted', async () => {
  await using bench = await hostBench(taskScript([callTo(1), { text: 'never' }]))
  const running = Promise.withResolvers<void>()
  let ended = false
  const live = await bench.open({
    run: (_input, context) => {
      running.resolve()
      return new Promise((_resolve, reject) =>
        context.signal.addEventListener('abort', () =>
          setImmediate(() => {
            ended = true
            reject(context.signal.reason)
          }),
        ),
      )
    },
  })
  const viewer = bench.viewer()
  live.attach(viewer)
  const prompt = live.handle({ type: 'prompt', id: 'p', message: 'go' }, viewer)
  await running.promise
  await live.handle({ type: 'abort', id: 'x' }, viewer)
  assert.equal(ended, true)
  assert.equal(response(viewer.frames, 'x')?.success, true)
  await prompt
  assert.equal(response(viewer.frames, 'p')?.code, 'aborted')
  assert.equal(live.session.state().openRun, null)
})

test('what is no command is answered by name, and nothing is run', async () => {
  await using bench = await hostBench([])
  const live = await bench.open()
  const viewer = bench.viewer()
  for (const [input, code] of [
    [null, 'unknown_command'],
    [{ type: 'nothing', id: '1' }, 'unknown_command'],
    [{ type: 'prompt', id: '2' }, 'bad_request'],
    [{ type: 'prompt', id: '3', message: 7 }, 'bad_request'],
    [{ type: 'get_messages', id: '4', since: 'nowhere' }, 'unknown_id'],
  ] as const) {
    await live.handle(input, viewer)
    const last = viewer.frames.at(-1)
    assert.ok(last?.type === 'response')
    assert.deepEqual([last.success, last.code], [false, code], JSON.stringify(input))
  }
  assert.deepEqual(bench.durableTypes(), ['session'])
})

test('get_messages pages by tree id', async () => {
  await using bench = await hostBench(taskScript([callTo(1), { text: 'done' }]))
  const live = await bench.open()
  const viewer = bench.viewer()
  await live.handle({ type: 'prompt', message: 'go' }, viewer)
  await live.handle({ type: 'get_messages', id: 'm', limit: 1 }, viewer)
  const page = response(viewer.frames, 'm')?.data
  assert.equal(page?.has_more, true)
  await live.handle({ type: 'get_messages', id: 'n' }, viewer)
  const all = response(viewer.frames, 'n')?.data
  assert.deepEqual(Array.isArray(all?.messages) && all.messages.map(message => message.role), [
    'user',
    'assistant',
    'tool',
    'assistant',
  ])
})
