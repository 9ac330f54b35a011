import assert from 'node:assert/strict'
import { test } from 'node:test'
import { taskScript } from '@beige/test-support'
import { hostBench, response } from '../test/host-bench.ts'

test('one of two prompts runs, the other is told busy, each has an answer', async () => {
  await using bench = await hostBench(taskScript([{ text: 'one' }]))
  const live = await bench.open()
  const viewer = bench.viewer()
  live.attach(viewer)
  await Promise.all([
    live.handle({ type: 'prompt', id: 'a', message: 'first' }, viewer),
    live.handle({ type: 'prompt', id: 'b', message: 'second' }, viewer),
  ])
  assert.equal(response(viewer.frames, 'a')?.success, true)
  assert.deepEqual(
    [response(viewer.frames, 'b')?.success, response(viewer.frames, 'b')?.code],
    [false, 'busy'],
  )
})
