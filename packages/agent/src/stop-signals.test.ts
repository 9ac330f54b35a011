import assert from 'node:assert/strict'
import { test } from 'node:test'
import { stopSignals } from './stop-signals.ts'

function fakeProcess() {
  const signals = new Set<(name: NodeJS.Signals) => void>()
  const closed = new Set<() => void>()
  const exits: number[] = []
  return {
    exits,
    listeners: () => signals.size + closed.size,
    kill: (name: NodeJS.Signals) => {
      for (const listener of signals) listener(name)
    },
    closeOutput: () => {
      for (const listener of closed) listener()
    },
    onSignal: (listener: (name: NodeJS.Signals) => void) => {
      signals.add(listener)
      return () => signals.delete(listener)
    },
    onOutputClosed: (listener: () => void) => {
      closed.add(listener)
      return () => closed.delete(listener)
    },
    exit: (code: number): never => {
      exits.push(code)
      throw new Error('the process is gone')
    },
  }
}

test('the first signal aborts, the second ends the process at once', () => {
  const world = fakeProcess()
  const stop = stopSignals(world)
  assert.equal(stop.stopped(), null)
  world.kill('SIGINT')
  assert.equal(stop.signal.aborted, true)
  assert.deepEqual(stop.stopped(), { by: 'signal', exitCode: 130 })
  assert.deepEqual(world.exits, [])
  assert.throws(() => world.kill('SIGTERM'))
  assert.deepEqual(world.exits, [143])
})

test('a closed output stops cleanly with code 0, however often it is told; a signal then ends at once', () => {
  const world = fakeProcess()
  const stop = stopSignals(world)
  world.closeOutput()
  world.closeOutput()
  assert.deepEqual([stop.signal.aborted, stop.stopped()], [true, { by: 'output', exitCode: 0 }])
  assert.throws(() => world.kill('SIGINT'))
  assert.deepEqual(world.exits, [130])
})

test('nothing is listened to afterwards', () => {
  const world = fakeProcess()
  stopSignals(world).dispose()
  assert.equal(world.listeners(), 0)
})
