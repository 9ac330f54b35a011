import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLocks } from './locks.ts'

const never = new AbortController().signal

/** Resolves to whether the promise is settled after every microtask that could settle it. */
async function settled(promise: Promise<unknown>): Promise<boolean> {
  const pending = Symbol('pending')
  for (let turn = 0; turn < 10; turn++) await Promise.resolve()
  return (await Promise.race([promise, Promise.resolve(pending)])) !== pending
}

test('shared holders are together, an exclusive one alone and in its place', async () => {
  const locks = createLocks()
  const first = await locks.acquire('k', 'shared', never)
  const second = await locks.acquire('k', 'shared', never)
  const writer = locks.acquire('k', 'exclusive', never)
  const late = locks.acquire('k', 'shared', never)
  assert.equal(await settled(writer), false)
  assert.equal(await settled(late), false, 'a reader behind a writer does not barge')
  first()
  assert.equal(await settled(writer), false)
  second()
  const release = await writer
  assert.equal(await settled(late), false)
  release()
  ;(await late)()
})

test('a waiter that is aborted leaves the queue and those behind it go on', async () => {
  const locks = createLocks()
  const holder = await locks.acquire('k', 'shared', never)
  const stop = new AbortController()
  const writer = locks.acquire('k', 'exclusive', stop.signal)
  const reader = locks.acquire('k', 'shared', never)
  stop.abort(new Error('stopped'))
  await assert.rejects(writer, /stopped/)
  ;(await reader)()
  holder()
})

test('letting go twice frees one place', async () => {
  const locks = createLocks()
  const first = await locks.acquire('k', 'exclusive', never)
  const second = locks.acquire('k', 'exclusive', never)
  const third = locks.acquire('k', 'exclusive', never)
  first()
  first()
  const release = await second
  assert.equal(await settled(third), false)
  release()
  ;(await third)()
})

test('keys do not wait for each other', async () => {
  const locks = createLocks()
  const a = await locks.acquire('a', 'exclusive', never)
  const b = await locks.acquire('b', 'exclusive', never)
  a()
  b()
})
