import assert from 'node:assert/strict'
import test from 'node:test'
import { callsPerSecond, timeInTurn } from './load.ts'
import type { Subject } from './subject.ts'

const { signal } = new AbortController()

test('a round calls every subject once, in turn', async () => {
  const order: string[] = []
  const subject = (name: string): Subject => ({
    name,
    call: async () => {
      order.push(name)
      return 'ok\n'
    },
  })
  const times = await timeInTurn([subject('a'), subject('b')], 3, signal)
  assert.deepEqual(order, ['a', 'b', 'a', 'b', 'a', 'b'])
  assert.deepEqual(
    [...times.values()].map(samples => samples.length),
    [3, 3],
  )
})

test('as many calls are in flight as asked for', async () => {
  let inFlight = 0
  let most = 0
  const call = async (): Promise<string> => {
    most = Math.max(most, ++inFlight)
    await new Promise(resolve => setImmediate(resolve))
    inFlight -= 1
    return 'ok\n'
  }
  assert.ok((await callsPerSecond({ name: 'a', call }, 8, 5, signal)) > 0)
  assert.equal(most, 8)
})

test('a subject that answers something else ends the benchmark', async () => {
  const wrong: Subject = { name: 'wrong', call: async () => 'no' }
  await assert.rejects(timeInTurn([wrong], 1, signal), /wrong answered "no"/)
})
