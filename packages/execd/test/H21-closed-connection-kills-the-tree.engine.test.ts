/** H21: the caller is gone, and so is what it started: one-shot and stream, whatever the tree looks like. */
import assert from 'node:assert/strict'
import { request as httpRequest } from 'node:http'
import { test } from 'node:test'
import { newMarker, processesWith, skip, startExecd, until } from './execd.ts'
import { TREES } from './trees.ts'

for (const [name, tree] of Object.entries(TREES)) {
  test(`closing a stream kills ${name}`, { skip }, async t => {
    const execd = await startExecd(t)
    const marker = newMarker()
    const { frames, close } = await execd.stream({ command: 'sh', args: ['-c', tree(marker)] })
    for await (const frame of frames) {
      if (frame.type === 'stdout') break
    }
    assert.notDeepEqual(processesWith(marker), [])
    close()
    await until('no process is left', () => processesWith(marker).length === 0)
    await until('no supervisor is left', () => execd.children().length === 0)
  })
}

test('closing a one-shot request kills its tree', { skip }, async t => {
  const execd = await startExecd(t)
  const marker = newMarker()
  const sent = httpRequest({ socketPath: execd.socketPath, method: 'POST', path: '/' })
  sent.on('error', () => {})
  const script = TREES['all at once']?.(marker) ?? ''
  sent.end(JSON.stringify({ command: 'sh', args: ['-c', script] }))
  await until('the tree is up', () => processesWith(marker).length >= 3)
  sent.destroy()
  await until('no process is left', () => processesWith(marker).length === 0)
})

test('nothing outlives an execd that is killed', { skip }, async t => {
  const execd = await startExecd(t)
  const marker = newMarker()
  const { frames } = await execd.stream({ command: 'sh', args: ['-c', TREES['all at once']?.(marker) ?? ''] })
  for await (const frame of frames) {
    if (frame.type === 'stdout') break
  }
  execd.kill('SIGKILL')
  await until('no process is left', () => processesWith(marker).length === 0)
})
