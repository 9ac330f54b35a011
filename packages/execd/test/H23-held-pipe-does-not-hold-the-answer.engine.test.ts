/** H23: a process left behind holds stdout for ever; the answer comes all the same, says so, and it is swept. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newMarker, processesWith, skip, startExecd } from './execd.ts'

const LOOP = 'while :; do sleep 0.2; done'

for (const [name, script] of Object.entries({
  'a background child': `sh -c '${LOOP}' MARKER & echo hi`,
  'a child in its own session that ignores SIGTERM': `setsid sh -c 'trap "" TERM; ${LOOP}' MARKER & sleep 0.3; echo hi`,
  'a child that never stops writing to it': `setsid sh -c 'while echo x >&2; do :; done' MARKER 2>&1 >/dev/null & echo hi`,
})) {
  test(`one-shot: ${name}`, { skip }, async t => {
    const execd = await startExecd(t)
    const marker = newMarker()
    const answer = await execd.run({ command: 'sh', args: ['-c', script.replace('MARKER', marker)] })
    assert.deepEqual(processesWith(marker), [])
    assert.equal(answer.exit_code, 0)
    assert.equal(answer.held_pipes, true)
    assert.match(answer.stdout.toString(), /hi\n/)
  })
}

test('stream: the exit frame says it too', { skip }, async t => {
  const execd = await startExecd(t)
  const marker = newMarker()
  const { frames } = await execd.stream({
    command: 'sh',
    args: ['-c', `sh -c '${LOOP}' ${marker} & echo hi`],
  })
  const all = await Array.fromAsync(frames)
  assert.deepEqual(processesWith(marker), [])
  assert.deepEqual(all.at(-1), {
    type: 'exit',
    exit_code: 0,
    signal: null,
    timed_out: false,
    held_pipes: true,
  })
})

test('a leftover that holds no pipe is swept without a word', { skip }, async t => {
  const execd = await startExecd(t)
  const marker = newMarker()
  const script = `setsid sh -c '${LOOP}' ${marker} </dev/null >/dev/null 2>&1 & echo hi`
  const answer = await execd.run({ command: 'sh', args: ['-c', script] })
  assert.deepEqual(processesWith(marker), [])
  assert.equal(answer.held_pipes, undefined)
  assert.equal(answer.stdout.toString(), 'hi\n')
})

test('a helper that outlives its command for a moment still gets its output through', { skip }, async t => {
  const execd = await startExecd(t)
  const answer = await execd.run({ command: 'sh', args: ['-c', '(echo late; exec >/dev/null) & echo early'] })
  assert.deepEqual(answer.stdout.toString().split('\n').sort(), ['', 'early', 'late'])
})
