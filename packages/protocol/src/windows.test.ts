import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createReceiveQueue, createSendWindow } from './windows.ts'

const WINDOW = 1000

test('a sender never has more than the window on the way, and all bytes arrive in order', async () => {
  const sender = createSendWindow(WINDOW)
  const queue = createReceiveQueue(WINDOW, bytes => sender.allow(bytes))
  let mostHeld = 0
  const sending = (async () => {
    for (let round = 0; round < 50; round++) {
      await sender.send(new Uint8Array(333).fill(round), piece => {
        queue.push(piece)
        mostHeld = Math.max(mostHeld, queue.heldBytes)
      })
    }
    queue.end()
  })()
  const got: number[] = []
  for await (const bytes of queue) got.push(...bytes)
  await sending
  assert.deepEqual(
    got,
    Array.from({ length: 50 * 333 }, (_, index) => Math.floor(index / 333)),
  )
  assert.ok(mostHeld <= WINDOW, `held ${mostHeld}`)
})

test('a sender that does not wait for its window is refused', () => {
  const queue = createReceiveQueue(WINDOW, () => undefined)
  queue.push(new Uint8Array(WINDOW))
  assert.throws(() => queue.push(new Uint8Array(1)), { code: 'window_exceeded' })
})

test('closing wakes a sender that waits for room and a reader that waits for bytes', async () => {
  const sender = createSendWindow(0)
  const sending = sender.send(new Uint8Array(1), () => undefined)
  sender.close('gone')
  await assert.rejects(sending, { code: 'stream_closed' })
  await assert.rejects(
    sender.send(new Uint8Array(1), () => undefined),
    { code: 'stream_closed' },
  )
  const queue = createReceiveQueue(WINDOW, () => undefined)
  const reading = queue[Symbol.asyncIterator]().next()
  queue.close('gone')
  await assert.rejects(reading, { code: 'stream_closed' })
})
