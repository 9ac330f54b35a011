import assert from 'node:assert/strict'
import test from 'node:test'
import { renderJson, renderTable } from './output.ts'

const rows = [
  { name: 'host-spawn', p50_ms: 1.234, per_s_1: 800 },
  { name: 'execd-docker', p50_ms: 2 },
]

test('the table has one line a row and a dash for what was not measured', () => {
  assert.equal(
    renderTable(rows),
    ['name          p50_ms  per_s_1', 'host-spawn      1.23      800', 'execd-docker       2        –'].join(
      '\n',
    ),
  )
})

test('the JSON is one object with bench, commit and rows', () => {
  assert.deepEqual(JSON.parse(renderJson('exec', 'abc', rows)), { bench: 'exec', commit: 'abc', rows })
})
