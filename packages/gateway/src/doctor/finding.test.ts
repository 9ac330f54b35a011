import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findingLine, missing, ok, warning } from './finding.ts'
import { nodeFinding } from './machine.ts'

test('a line has its mark, what was seen, and what to do about it', () => {
  assert.equal(findingLine(ok('node', '24.22.3')), '✓ node        24.22.3')
  assert.equal(findingLine(warning('home', 'is wide.', 'chmod it')), '! home        is wide. chmod it')
  assert.equal(
    findingLine(missing('execd', 'not built', 'npm run build:execd')),
    '✗ execd       not built. npm run build:execd',
  )
})

test('a node that is too old is missing, ours is fine', () => {
  assert.equal(nodeFinding('v20.20.2').state, 'missing')
  assert.equal(nodeFinding('v24.22.3').state, 'ok')
})
