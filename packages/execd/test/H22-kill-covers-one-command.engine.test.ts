/** H22: a timeout ends that command and nothing else. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newMarker, processesWith, skip, startExecd } from './execd.ts'

test('a neighbour of a command that timed out runs on', { skip }, async t => {
  const execd = await startExecd(t)
  const marker = newMarker()
  const neighbour = await execd.stream({
    command: 'sh',
    args: ['-c', 'echo up; read line; echo end', marker],
    env: { A: '1' },
  })
  await neighbour.frames.next()
  const answer = await execd.run({ command: 'sh', args: ['-c', 'sleep 600'], timeout_ms: 100 })
  assert.equal(answer.timed_out, true)
  const rest = []
  for await (const frame of neighbour.frames) rest.push(frame)
  assert.deepEqual(
    rest.map(frame => frame.data && Buffer.from(frame.data, 'base64').toString()).join(''),
    'up\nend\n',
  )
  assert.equal(rest.at(-1)?.exit_code, 0)
  assert.deepEqual(processesWith(marker), [])
  assert.equal((await execd.send('GET', '/health')).status, 200)
})
