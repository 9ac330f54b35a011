/** The disk is full when a run ends: the client is told, and who asks again when there is room gets the end. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BeigeError, type RecordBody } from '@beige/protocol'
import { taskScript } from '@beige/test-support'
import { hostBench, response } from '../test/host-bench.ts'
import type { LiveSession } from './live-session.ts'

const FULL = new BeigeError('storage', { says: 'full', retryable: true, advice: '' }, {}, undefined)

/** Its end can not be written, until the answer is called. */
function withoutRoom(live: LiveSession): () => void {
  const { append } = live.session.log
  let isFull = true
  Object.assign(live.session.log, {
    append: (...bodies: readonly RecordBody[]) =>
      isFull && bodies.some(body => body.type === 'run_end') ? Promise.reject(FULL) : append(...bodies),
  })
  return () => {
    isFull = false
  }
}

test('the same key gets storage while it is full, and the end of the same run afterwards', async () => {
  await using bench = await hostBench(taskScript([{ text: 'hello' }]))
  const live = await bench.open()
  const viewer = bench.viewer()
  live.attach(viewer)
  const makeRoom = withoutRoom(live)
  const prompt = { type: 'prompt', message: 'go', idempotency_key: 'k1' }
  await live.handle({ ...prompt, id: 'a' }, viewer)
  await live.handle({ ...prompt, id: 'b' }, viewer)
  assert.deepEqual(
    [response(viewer.frames, 'a')?.code, response(viewer.frames, 'b')?.code],
    ['storage', 'storage'],
  )
  makeRoom()
  await live.handle({ ...prompt, id: 'c' }, viewer)
  assert.equal(response(viewer.frames, 'c')?.data?.text, 'hello')
  assert.deepEqual(bench.durableTypes(), ['session', 'prompt', 'message', 'run_end'])
})

test('another prompt finds the run busy, gone on with, and then has its turn', async () => {
  await using bench = await hostBench(taskScript([{ text: 'hello' }]))
  const live = await bench.open()
  const viewer = bench.viewer()
  const makeRoom = withoutRoom(live)
  await live.handle({ type: 'prompt', id: 'a', message: 'one' }, viewer)
  makeRoom()
  await live.handle({ type: 'prompt', id: 'b', message: 'two' }, viewer)
  assert.equal(response(viewer.frames, 'b')?.code, 'busy')
  await live.run?.ended
  await live.handle({ type: 'prompt', id: 'c', message: 'two' }, viewer)
  assert.deepEqual(
    bench.durableTypes().filter(type => type === 'prompt' || type === 'run_end'),
    ['prompt', 'run_end', 'prompt', 'run_end'],
  )
})

test('where open runs are closed, the next prompt closes it first', async () => {
  await using bench = await hostBench(taskScript([{ text: 'hello' }]), { openRun: 'close' })
  const live = await bench.open()
  const viewer = bench.viewer()
  live.attach(viewer)
  const makeRoom = withoutRoom(live)
  await live.handle({ type: 'prompt', id: 'a', message: 'one' }, viewer)
  makeRoom()
  await live.handle({ type: 'prompt', id: 'b', message: 'two' }, viewer)
  assert.equal(response(viewer.frames, 'b')?.success, true)
  assert.equal(bench.durableTypes().filter(type => type === 'run_end').length, 2)
})
