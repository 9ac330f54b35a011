/** H25: what was written before the timeout comes with it, and what a command writes while it is told to end. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { skip, startExecd } from './execd.ts'

const SCRIPT = 'trap "echo bye; exit 7" TERM; echo out; echo err >&2; while :; do sleep 0.05; done'

test('one-shot', { skip }, async t => {
  const execd = await startExecd(t)
  const answer = await execd.run({ command: 'sh', args: ['-c', SCRIPT], timeout_ms: 500 })
  assert.equal(answer.status, 200)
  assert.equal(answer.timed_out, true)
  assert.equal(answer.exit_code, 7)
  assert.equal(answer.stdout.toString(), 'out\nbye\n')
  assert.match(answer.stderr.toString(), /^err\n/)
})

test('stream', { skip }, async t => {
  const execd = await startExecd(t)
  const { frames } = await execd.stream({ command: 'sh', args: ['-c', SCRIPT], timeout_ms: 500 })
  const all = await Array.fromAsync(frames)
  const stdout = all
    .filter(frame => frame.type === 'stdout')
    .map(frame => Buffer.from(frame.data ?? '', 'base64'))
  assert.equal(Buffer.concat(stdout).toString(), 'out\nbye\n')
  assert.deepEqual(all.at(-1), { type: 'exit', exit_code: 7, signal: null, timed_out: true })
})
