import assert from 'node:assert/strict'
import { test } from 'node:test'
import { oncePerPress } from './signals.ts'

function pressed(...at: [ms: number, name: string][]): string[] {
  let now = 0
  const heard: string[] = []
  const listener = oncePerPress({ monotonic: () => now }, (name: string) => heard.push(`${name} at ${now}`))
  for (const [ms, name] of at) {
    now = ms
    listener(name)
  }
  return heard
}

test('a signal and its echo are one press', () => {
  assert.deepEqual(pressed([1000, 'SIGINT'], [1000, 'SIGINT'], [1120, 'SIGTERM']), ['SIGINT at 1000'])
})

test('who presses again is heard again', () => {
  const heard = pressed([0, 'SIGINT'], [5, 'SIGINT'], [400, 'SIGINT'], [401, 'SIGINT'])
  assert.deepEqual(heard, ['SIGINT at 0', 'SIGINT at 400'])
})
