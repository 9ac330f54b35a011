/** H20: a call that timed out is answered when its whole tree is gone, and not before. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newMarker, processesWith, skip, startExecd } from './execd.ts'
import { TREES } from './trees.ts'

for (const [name, tree] of Object.entries(TREES)) {
  test(`a timeout kills ${name}`, { skip }, async t => {
    const execd = await startExecd(t)
    const marker = newMarker()
    const answer = await execd.run({ command: 'sh', args: ['-c', tree(marker)], timeout_ms: 2500 })
    assert.deepEqual(processesWith(marker), [])
    assert.equal(answer.timed_out, true)
    assert.equal(answer.exit_code, null)
    assert.equal(answer.stdout.toString(), 'ready\n')
  })
}

test('the naive way, killing the group, leaves a process in a session of its own', { skip }, async t => {
  const execd = await startExecd(t)
  const marker = newMarker()
  const script = `setsid sh -c 'while :; do sleep 0.2; done' ${marker} & echo $!; kill -9 0`
  const { frames, close } = await execd.stream({ command: 'sh', args: ['-c', script] })
  t.after(close)
  for await (const frame of frames) {
    if (frame.type === 'exit') assert.equal(frame.signal, 'SIGKILL')
  }
  // The group is dead, the session was not: what is gone now was swept by execd.
  assert.deepEqual(processesWith(marker), [])
})
