/** How a live session ends, and how its successor goes on. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { taskScript } from '@beige/test-support'
import { hostBench, response } from '../test/host-bench.ts'

const CALL = { calls: [{ name: 'count', input: { to: 1 } }] }

test('after stop a run in flight and one that begins later are recorded as aborted', async () => {
  await using bench = await hostBench(taskScript([CALL, { text: 'never' }]))
  const live = await bench.open()
  const viewer = bench.viewer(frame => {
    if (frame.type === 'event' && frame.event.kind === 'tool_start') live.stop(new Error('enough'))
  })
  live.attach(viewer)
  await live.handle({ type: 'prompt', id: '1', message: 'go' }, viewer)
  await live.handle({ type: 'prompt', id: '2', message: 'again' }, viewer)
  assert.deepEqual(
    ['1', '2'].map(id => response(viewer.frames, id)?.code),
    ['aborted', 'aborted'],
  )
  assert.equal(live.session.state().openRun, null)
  assert.equal(bench.requests(), 1)
})

test('what a session holds is given up while the session is still owned, and a failure there is told', async () => {
  const order: string[] = []
  await using bench = await hostBench([], {
    close: async () => {
      order.push('closed')
      await live.session.append({ type: 'setting', name: 'x', value: 1 }).catch(() => order.push('not owned'))
      throw new Error('the sandbox does not end')
    },
  })
  const live = await bench.open()
  await assert.rejects(bench.closeHost(), /the sandbox does not end/)
  assert.deepEqual(order, ['closed'])
  await assert.rejects(
    live.session.append({ type: 'setting', name: 'x', value: 2 }),
    'the session was closed all the same',
  )
})

test('a run without its system prompt fails by name, on record, and the next one asks for it again', async () => {
  let asked = 0
  await using bench = await hostBench([{ text: 'hello' }], {
    systemPrompt: async () => {
      if (asked++ === 0) throw new Error('no notes')
      return 'You are tested.'
    },
  })
  const live = await bench.open()
  const viewer = bench.viewer()
  live.attach(viewer)
  await live.handle({ type: 'prompt', id: '1', message: 'go' }, viewer)
  const failed = response(viewer.frames, '1')
  assert.equal(failed?.success, false)
  assert.match(failed?.error ?? '', /could not begin: no notes/)
  assert.equal(live.session.state().openRun, null)
  await live.handle({ type: 'prompt', id: '2', message: 'go' }, viewer)
  await live.handle({ type: 'prompt', id: '3', message: 'go' }, viewer)
  assert.equal(response(viewer.frames, '2')?.success, true)
  assert.equal(asked, 2, 'once for all runs')
})

test('a viewer that is there from the start misses nothing of a run that goes on', async () => {
  const held = Promise.withResolvers<never>()
  await using bench = await hostBench(taskScript([CALL, { text: 'done' }]))
  const running = Promise.withResolvers<void>()
  const first = await bench.open({
    idempotent: true,
    run: () => {
      running.resolve()
      return held.promise
    },
  })
  const prompt = first.handle({ type: 'prompt', message: 'go' }, bench.viewer())
  await running.promise
  const runId = first.run?.id
  const viewer = bench.viewer()
  await bench.open({}) // the successor's tool ends
  const next = await bench.successor(viewer)
  await next.run?.ended
  const [ready, ...frames] = viewer.frames
  assert.ok(ready?.type === 'ready' && ready.run_id === runId)
  const events = frames.flatMap(frame => (frame.type === 'event' ? [frame.event] : []))
  assert.deepEqual([events[0]?.kind, events.at(-1)?.kind], ['agent_start', 'agent_end'])
  assert.ok(frames.every((frame, index) => frame.seq === ready.seq + index + 1))
  held.reject(new Error('its owner is gone'))
  await prompt
})
