/** One start and one end a run, whatever the receiver and the owners do. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { taskScript } from '@beige/test-support'
import { hostBench, response } from '../test/host-bench.ts'
import type { LifecycleEvent, LifecycleSink } from './lifecycle.ts'

const CALL = { calls: [{ name: 'count', input: { to: 1 } }] }

function receiver(statuses: (event: LifecycleEvent) => number | 'lost') {
  const seen: LifecycleEvent[] = []
  const sink: LifecycleSink = {
    heartbeatMs: 0,
    send: async event => {
      seen.push(event)
      const status = statuses(event)
      if (status === 'lost') throw new Error('nobody is there')
      return status
    },
  }
  return { sink, seen, types: () => seen.map(event => event.type) }
}

test('a start and an end are told once each; the cursor fetches the same from the log', async () => {
  const { sink, seen, types } = receiver(() => 204)
  await using bench = await hostBench(taskScript([{ text: 'all is well' }]), { lifecycle: sink })
  const live = await bench.open()
  const viewer = bench.viewer()
  for (const id of ['1', '2']) await live.handle({ type: 'prompt', id, message: 'go' }, viewer)
  await bench.closeHost()
  assert.deepEqual(types(), ['started', 'succeeded', 'started', 'succeeded'])
  assert.equal(new Set(seen.map(event => event.event_id)).size, 4)
  assert.deepEqual([seen[1]?.summary, seen[1]?.steps, seen[1]?.refused], ['all is well', 1, false])
  const next = await bench.successor()
  await next.handle({ type: 'get_lifecycle', id: 'l', limit: 3 }, viewer)
  const page = response(viewer.frames, 'l')?.data
  await next.handle({ type: 'get_lifecycle', id: 'm', after: page?.next }, viewer)
  const rest = response(viewer.frames, 'm')?.data
  const idsOf = (data: Record<string, unknown> | undefined) =>
    Array.isArray(data?.events) ? data.events.map(event => event.event_id) : []
  assert.deepEqual(
    [...idsOf(page), ...idsOf(rest)],
    seen.map(event => event.event_id),
  )
  assert.deepEqual([page?.has_more, rest?.has_more], [true, false])
})

test('what an owner could not tell its successor tells, and nothing twice', async () => {
  let isUp = false
  const { sink, seen } = receiver(() => (isUp ? 200 : 'lost'))
  await using bench = await hostBench(taskScript([{ text: 'done' }]), { lifecycle: sink })
  const live = await bench.open()
  await live.handle({ type: 'prompt', message: 'go' }, bench.viewer())
  isUp = true
  seen.length = 0
  const next = await bench.successor() // the first one is fenced now
  while (seen.length < 2) await new Promise(resolve => setImmediate(resolve))
  await next.handle({ type: 'prompt', message: 'more' }, bench.viewer())
  while (seen.length < 4) await new Promise(resolve => setImmediate(resolve))
  assert.deepEqual(
    seen.map(event => event.type),
    ['started', 'succeeded', 'started', 'succeeded'],
  )
  assert.equal(new Set(seen.map(event => event.event_id)).size, 4)
})

test('a receiver that says 410 hears no more of that run; an abort and a failure are ends as well', async () => {
  const { sink, types } = receiver(event => (event.n < 5 ? 410 : 204))
  await using bench = await hostBench(taskScript([CALL, { text: 'never' }]), { lifecycle: sink })
  const live = await bench.open({ run: async () => Promise.reject(live.stop(new Error('enough'))) })
  await live.handle({ type: 'prompt', message: 'go' }, bench.viewer())
  await bench.closeHost()
  assert.deepEqual(types(), ['started'])
})

test('without anybody to tell, the log has them all the same', async () => {
  await using bench = await hostBench(taskScript([CALL, { text: 'never' }]))
  const live = await bench.open({ run: async () => Promise.reject(live.stop(new Error('enough'))) })
  const viewer = bench.viewer()
  await live.handle({ type: 'prompt', message: 'go' }, viewer)
  await live.handle({ type: 'get_lifecycle', id: 'l' }, viewer)
  const events = response(viewer.frames, 'l')?.data?.events
  assert.deepEqual(Array.isArray(events) && events.map(event => event.type), ['started', 'aborted'])
})
