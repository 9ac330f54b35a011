/** Bytes count for silence, only a piece of the answer counts for its beginning. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '@beige/test-support'
import { createWatchdog } from './watchdog.ts'

const settled = () => new Promise(resolve => setImmediate(resolve))

test('sound defers the end, to the millisecond', async () => {
  const clock = manualClock()
  const watchdog = createWatchdog(clock, { idleMs: 100, firstTokenMs: 1000 }, () => undefined)
  clock.advance(60)
  watchdog.sound()
  clock.advance(99)
  await settled()
  assert.equal(watchdog.silence(), null)
  clock.advance(1)
  await settled()
  assert.equal(watchdog.silence(), 'nothing came for 0.1 s')
  await watchdog.stop()
})

test('keep-alive bytes do not stand for an answer', async () => {
  const clock = manualClock()
  let fired = 0
  const watchdog = createWatchdog(clock, { idleMs: 100, firstTokenMs: 250 }, () => fired++)
  for (let i = 0; i < 5; i++) {
    clock.advance(50)
    watchdog.sound()
    await settled()
  }
  assert.equal(watchdog.silence(), 'no answer began within 0.25 s')
  assert.equal(fired, 1)
  await watchdog.stop()
})

test('after the first piece only silence counts', async () => {
  const clock = manualClock()
  const watchdog = createWatchdog(clock, { idleMs: 100, firstTokenMs: 250 }, () => undefined)
  watchdog.token()
  for (let i = 0; i < 20; i++) {
    clock.advance(50)
    watchdog.sound()
    await settled()
  }
  assert.equal(watchdog.silence(), null)
  await watchdog.stop()
  assert.equal(clock.sleepers(), 0)
})
