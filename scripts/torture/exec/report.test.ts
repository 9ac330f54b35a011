import assert from 'node:assert/strict'
import test from 'node:test'
import { lastLine, withinBounds } from './report.ts'
import type { TortureResult } from './run-trees.ts'

const result = (change: Partial<TortureResult>): TortureResult => ({
  trees: 3,
  left: 0,
  abortMs: [10, 20.4, 2100],
  stubbornMs: [2100],
  plainMs: [10, 20.4],
  endedFirst: 0,
  targets: ['execd'],
  ...change,
})

test('the last line has trees, what is left, and p50 and p99 of the aborts', () => {
  assert.equal(lastLine(result({})), 'torture: 3 trees, 0 left, abort p50/p99 20 ms/2100 ms')
  assert.equal(lastLine(result({ abortMs: [] })), 'torture: 3 trees, 0 left, abort p50/p99 0 ms/0 ms')
})

test('aborts are bounded by their kind, when there are enough to tell', () => {
  assert.equal(withinBounds(result({ plainMs: [9000] })), true)
  assert.equal(withinBounds(result({ plainMs: Array(200).fill(299) })), true)
  assert.equal(withinBounds(result({ plainMs: Array(200).fill(301) })), false)
  assert.equal(withinBounds(result({ stubbornMs: Array(200).fill(2501) })), false)
})
