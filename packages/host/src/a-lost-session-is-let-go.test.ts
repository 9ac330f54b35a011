/** A session that this process no longer owns is dropped: its viewers are sent away and may come back to open it again. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BeigeError, CLOSE, systemClock } from '@beige/protocol'
import { hostBench, response } from '../test/host-bench.ts'

const gone = new BeigeError('self_fenced', { says: 'silent', retryable: true, advice: '' }, {}, undefined)

test('an idle session whose store is out of reach is dropped, and can be opened again here', async () => {
  const cut = new AbortController()
  let made = 0
  await using bench = await hostBench([{ text: 'hello' }], {}, systemClock, store => ({
    ...store,
    create: async (...bodies) => ({
      ...(await store.create(...bodies)),
      lost: made++ === 0 ? cut.signal : new AbortController().signal,
    }),
  }))
  const live = await bench.open()
  const closed: number[] = []
  const viewer = { ...bench.viewer(), closed: (code: number) => void closed.push(code) }
  live.attach(viewer)
  cut.abort(gone)
  assert.deepEqual(closed, [CLOSE.released])
  assert.equal(
    viewer.frames.some(frame => frame.type === 'session_superseded'),
    false,
  )
  const again = await bench.open()
  assert.notEqual(again, live)
})

test('an owner that was overtaken says so and sends its viewers away', async () => {
  await using bench = await hostBench([{ text: 'hello' }])
  const live = await bench.open()
  const closed: number[] = []
  const viewer = { ...bench.viewer(), closed: (code: number) => void closed.push(code) }
  live.attach(viewer)
  await bench.successor()
  await live.handle({ type: 'prompt', id: '1', message: 'go' }, viewer)
  assert.equal(response(viewer.frames, '1')?.success, false)
  assert.ok(viewer.frames.some(frame => frame.type === 'session_superseded'))
  assert.deepEqual(closed, [CLOSE.superseded])
})
