import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '@beige/protocol'
import type { GatewayLog } from '../home/gateway-log.ts'
import { stopStep } from './stop-steps.ts'

test('a step that hangs, throws or rejects is said, and the next one runs', async () => {
  const lines: string[] = []
  const log: GatewayLog = {
    write: (level, text) => void lines.push(`${level} ${text}`),
    error: (what, error) => void lines.push(`error ${what} ${String(error)}`),
  }
  const parts = { log, clock: systemClock }
  const ran: string[] = []
  let heard = false
  await stopStep('drain', 20, parts, signal => {
    ran.push('drain')
    signal.addEventListener('abort', () => {
      heard = true
    })
    return new Promise(() => undefined)
  })
  await stopStep('plugins', 20, parts, async () => {
    ran.push('plugins')
    throw new RangeError('broken')
  })
  await stopStep('teardown', 1000, parts, async () => void ran.push('teardown'))
  assert.deepEqual(ran, ['drain', 'plugins', 'teardown'])
  assert.ok(heard, 'a step that listens is told')
  assert.deepEqual(lines, [
    'warn stop: drain was not done after 20 ms',
    'error stop: plugins RangeError: broken',
  ])
})
