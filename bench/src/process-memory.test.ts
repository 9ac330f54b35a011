import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import test from 'node:test'
import { memoryOf, treeOf } from './process-memory.ts'

// Says when its child runs; both end with stdin.
const parent = `
const child = require('node:child_process').spawn('cat', { stdio: ['inherit', 'pipe', 'inherit'] })
child.on('spawn', () => console.log('up'))
`

test('a tree has its children, and its memory is theirs together', async () => {
  const child = spawn(process.execPath, ['-e', parent], { stdio: ['pipe', 'pipe', 'inherit'] })
  await once(child.stdout, 'data')
  const pids = treeOf(child.pid ?? 0)
  const whole = memoryOf(pids, true)
  const alone = memoryOf(pids.slice(0, 1), true)
  child.stdin.end()
  await once(child, 'close')

  assert.equal(pids.length, 2)
  assert.ok(alone.rssMb > 20 && whole.rssMb > alone.rssMb, JSON.stringify({ alone, whole }))
  assert.ok(whole.pssMb > 0 && whole.pssMb <= whole.rssMb, JSON.stringify(whole))
})

test('a process that is gone takes nothing', () => {
  assert.deepEqual(memoryOf([2 ** 22 + 1], true), { rssMb: 0, pssMb: 0 })
})
