/** steer, follow_up, unqueue, stop_after_turn: what is said while a run goes on. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { taskScript } from '@beige/test-support'
import { type HostBench, hostBench, response, type TestViewer } from '../test/host-bench.ts'
import type { LiveSession } from './live-session.ts'

const CALL = { calls: [{ name: 'count', input: { to: 1 } }] }

/** A run whose first call has begun and waits until `release`. */
async function atWork(bench: HostBench) {
  const running = Promise.withResolvers<void>()
  const release = Promise.withResolvers<void>()
  const live = await bench.open({
    run: async () => {
      running.resolve()
      await release.promise
      return { content: [{ type: 'text', text: 'counted' }], isError: false, outcome: 'done', details: {} }
    },
  })
  const viewer = bench.viewer()
  live.attach(viewer)
  const prompt = live.handle({ type: 'prompt', id: 'p', message: 'go' }, viewer)
  await running.promise
  return { live, viewer, prompt, release: release.resolve }
}

const saidOnBranch = (live: LiveSession) =>
  live.session.state().entries.flatMap(entry => {
    const content =
      entry.kind === 'prompt' ? entry.body.message : entry.body.role === 'user' ? entry.body.content : []
    return content.flatMap(block => (block.type === 'text' ? [block.text] : []))
  })
const eventsOf = (viewer: TestViewer, kind: string) =>
  viewer.frames.filter(frame => frame.type === 'event' && frame.event.kind === kind)

test('a steer is said at the next turn, a follow_up at the stop, all in one run', async () => {
  await using bench = await hostBench(taskScript([CALL, { text: 'first' }, { text: 'second' }]))
  const { live, viewer, prompt, release } = await atWork(bench)
  await live.handle({ type: 'follow_up', id: 'f', message: 'and then this' }, viewer)
  await live.handle({ type: 'steer', id: 's', message: 'rather that' }, viewer)
  const { data } = response(viewer.frames, 's') ?? {}
  assert.equal(data?.run_id, live.run?.id)
  assert.equal(Array.isArray(data?.steer_queue) && data.steer_queue.length, 1)
  release()
  await prompt
  assert.deepEqual(saidOnBranch(live), ['go', 'rather that', 'and then this'])
  assert.equal(eventsOf(viewer, 'steered').length, 2)
  assert.equal(eventsOf(viewer, 'agent_end').length, 1)
  assert.deepEqual(live.lanes.shown(), { steer_queue: [], follow_up_queue: [] })
})

test('one at a time is the default, all is a setting', async () => {
  for (const mode of ['one_at_a_time', 'all'] as const) {
    await using bench = await hostBench(taskScript([CALL, { text: '1' }, { text: '2' }, { text: '3' }]))
    const { live, viewer, prompt, release } = await atWork(bench)
    await live.handle({ type: 'set_follow_up_mode', mode }, viewer)
    for (const message of ['a', 'b']) await live.handle({ type: 'follow_up', message }, viewer)
    release()
    await prompt
    assert.deepEqual(saidOnBranch(live), ['go', 'a', 'b'])
    assert.equal(eventsOf(viewer, 'steered').length, mode === 'all' ? 1 : 2)
  }
})

test('H85 what is queued outlives its owner, and what was said is not said again', async () => {
  await using bench = await hostBench(taskScript([CALL, { text: 'first' }, { text: 'second' }]))
  const { live, viewer, prompt, release } = await atWork(bench)
  await live.handle({ type: 'steer', id: 's', message: 'once', idempotency_key: 'k' }, viewer)
  await live.handle({ type: 'steer', id: 't', message: 'once', idempotency_key: 'k' }, viewer)
  assert.equal(response(viewer.frames, 't')?.data?.queue_id, response(viewer.frames, 's')?.data?.queue_id)
  await live.handle({ type: 'steer', id: 'u', message: 'other', idempotency_key: 'k' }, viewer)
  assert.equal(response(viewer.frames, 'u')?.code, 'conflict')
  await bench.open({ idempotent: true })
  const next = await bench.successor()
  assert.equal(next.lanes.waiting('steer').length, 1)
  release()
  await prompt // its owner is fenced
  await next.run?.ended
  assert.deepEqual(saidOnBranch(next), ['go', 'once'])
  assert.equal(next.lanes.next(), null)
})

test('unqueue takes a message back, once', async () => {
  await using bench = await hostBench(taskScript([CALL, { text: 'first' }]))
  const { live, viewer, prompt, release } = await atWork(bench)
  await live.handle({ type: 'follow_up', id: 'f', message: 'never' }, viewer)
  const queue_id = response(viewer.frames, 'f')?.data?.queue_id
  for (const id of ['1', '2']) await live.handle({ type: 'unqueue', id, queue_id }, viewer)
  assert.deepEqual(
    ['1', '2'].map(id => response(viewer.frames, id)?.data?.removed),
    [true, false],
  )
  release()
  await prompt
  assert.deepEqual(saidOnBranch(live), ['go'])
})

test('a lane takes 32 messages; the 33rd is refused with the queues', async () => {
  await using bench = await hostBench(taskScript([CALL, { text: 'first' }]))
  const { live, viewer, prompt, release } = await atWork(bench)
  for (let n = 0; n < 33; n++) await live.handle({ type: 'steer', id: `s${n}`, message: `m${n}` }, viewer)
  const refused = response(viewer.frames, 's32')
  assert.equal(refused?.code, 'queue_full')
  assert.equal(Array.isArray(refused?.data?.steer_queue) && refused.data.steer_queue.length, 32)
  live.run?.abort(new Error('enough'))
  release()
  await prompt
})

test('an abort leaves the lanes alone; idle, a steer begins a run that says them too', async () => {
  await using bench = await hostBench(taskScript([CALL, { text: 'on' }, { text: 'and on' }]))
  const { live, viewer, prompt, release } = await atWork(bench)
  await live.handle({ type: 'follow_up', message: 'later' }, viewer)
  live.run?.abort(new Error('enough'))
  release()
  await prompt
  assert.equal(live.lanes.waiting('follow_up').length, 1)
  await live.handle({ type: 'steer', id: 's', message: 'now' }, viewer)
  assert.equal(response(viewer.frames, 's')?.data?.run_id, live.run?.id)
  await live.run?.ended
  assert.deepEqual(saidOnBranch(live), ['go', 'now', 'later'])
})

test('stop_after_turn ends the run at its boundary, done, with its results recorded', async () => {
  await using bench = await hostBench(taskScript([CALL, { text: 'never' }]))
  const { live, viewer, prompt, release } = await atWork(bench)
  await live.handle({ type: 'stop_after_turn', id: 'x' }, viewer)
  release()
  await prompt
  assert.equal(response(viewer.frames, 'p')?.data?.outcome, 'done')
  assert.equal(bench.requests(), 1)
  await live.handle({ type: 'prompt', id: 'q', message: 'go on' }, viewer)
  assert.equal(response(viewer.frames, 'q')?.success, true, 'the history is whole')
})

test('prompts with one key at the same moment run once', async () => {
  await using bench = await hostBench(taskScript([{ text: 'once' }]))
  const live = await bench.open()
  const viewer = bench.viewer()
  live.attach(viewer)
  const prompt = { type: 'prompt', message: 'go', idempotency_key: 'k' }
  await Promise.all(['1', '2', '3'].map(id => live.handle({ ...prompt, id }, viewer)))
  const runs = new Set(['1', '2', '3'].map(id => response(viewer.frames, id)?.data?.run_id))
  assert.equal(runs.size, 1)
  assert.equal(bench.requests(), 1)
})
