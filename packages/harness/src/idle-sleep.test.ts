import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import type { SleepResult } from '@beige/sandbox'
import { manualClock } from '@beige/test-support'
import { idleSleep } from './idle-sleep.ts'

const PAUSE_MS = 1000

function bench(idlePauseMs = PAUSE_MS) {
  const clock = manualClock()
  const said: string[] = []
  let answer: SleepResult | Error = 'asleep'
  let falling: Promise<void> = Promise.resolve()
  const place = {
    async sleep() {
      said.push('sleep')
      await falling
      if (answer instanceof Error) throw answer
      return answer
    },
    async wake() {
      said.push('wake')
    },
  }
  return {
    clock,
    said,
    idle: idleSleep(place, { clock, idlePauseMs }),
    answerWith: (next: SleepResult | Error) => {
      answer = next
    },
    fallSlowly: (until: Promise<void>) => {
      falling = until
    },
    pass: async (ms: number) => {
      clock.advance(ms)
      await turn()
    },
  }
}

test('it falls asleep when unused, and the next call wakes it once', async () => {
  const { idle, said, pass } = bench()
  await pass(PAUSE_MS - 1)
  assert.equal(said.length, 0)
  await pass(1)
  assert.deepEqual(said, ['sleep'])
  const calls = ['a', 'b'].map(name => idle.awake(async () => void said.push(name)))
  await Promise.all(calls)
  assert.deepEqual(said, ['sleep', 'wake', 'a', 'b'])
  await pass(PAUSE_MS)
  assert.deepEqual(said.slice(4), ['sleep'])
})

test('a call keeps it awake until it has ended', async () => {
  const { idle, said, pass } = bench()
  const { promise, resolve } = Promise.withResolvers<void>()
  const call = idle.awake(() => promise)
  await pass(10 * PAUSE_MS)
  resolve()
  await call
  await pass(PAUSE_MS - 1)
  assert.equal(said.length, 0)
  await pass(1)
  assert.deepEqual(said, ['sleep'])
})

test('what runs in it keeps it awake, and it is looked at again', async () => {
  const { said, pass, answerWith } = bench()
  answerWith('busy')
  await pass(PAUSE_MS)
  await pass(PAUSE_MS)
  assert.deepEqual(said, ['sleep', 'sleep'])
})

test('a call that comes while it falls asleep waits, and wakes it', async () => {
  const { idle, said, pass, fallSlowly } = bench()
  const { promise, resolve } = Promise.withResolvers<void>()
  fallSlowly(promise)
  await pass(PAUSE_MS)
  const call = idle.awake(async () => void said.push('call'))
  await turn()
  assert.deepEqual(said, ['sleep'])
  resolve()
  await call
  assert.deepEqual(said, ['sleep', 'wake', 'call'])
})

test('where nobody knows whether it sleeps it is woken', async () => {
  const { idle, said, pass, answerWith } = bench()
  answerWith(new Error('the engine hung up'))
  await pass(PAUSE_MS)
  await idle.awake(async () => void said.push('call'))
  assert.deepEqual(said, ['sleep', 'wake', 'call'])
})

test('never: by setting, by the driver, after the end', async () => {
  const off = bench(0)
  assert.equal(off.clock.sleepers(), 0)
  const unable = bench()
  unable.answerWith('never')
  await unable.pass(PAUSE_MS)
  assert.equal(unable.clock.sleepers(), 0)
  const ended = bench()
  await ended.idle.stop()
  await ended.idle.awake(async () => {})
  assert.equal(ended.clock.sleepers(), 0)
  assert.deepEqual(ended.said, [])
})
