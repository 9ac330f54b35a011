/** A command of the same user can kill or stop its own supervisor. It gains nothing by it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { IN_NAMESPACE, needsNamespaces, newMarker, processesWith, skip, startExecd, until } from './execd.ts'

const LOOP = 'while :; do sleep 0.2; done'

for (const signal of ['KILL', 'STOP']) {
  test(`a supervisor that gets SIG${signal} leaves nothing`, { skip }, async t => {
    const execd = await startExecd(t)
    const marker = newMarker()
    const script = `setsid sh -c 'trap "" TERM; ${LOOP}' ${marker} & sh -c '${LOOP}' ${marker} & kill -${signal} $PPID; ${LOOP}`
    const answer = await execd.run({ command: 'sh', args: ['-c', script, marker] })
    assert.deepEqual(processesWith(marker), [])
    assert.equal(answer.signal, 'SIGKILL')
    await until('nothing is left to execd', () => execd.children().length === 0)
    assert.equal((await execd.run({ command: 'true' })).exit_code, 0)
  })
}

test('a command beside it is not touched', { skip }, async t => {
  const execd = await startExecd(t)
  const beside = execd.run({ command: 'sh', args: ['-c', '(sleep 0.5; exit 0) & wait; echo fine'] })
  await execd.run({ command: 'sh', args: ['-c', `kill -KILL $PPID; ${LOOP}`] })
  assert.equal((await beside).stdout.toString(), 'fine\n')
})

test('execd and supervisors can not be read', { skip }, async t => {
  const execd = await startExecd(t, { SECRET_OF_EXECD: 'x' })
  const script = `cat /proc/$PPID/environ /proc/${execd.pid}/environ /proc/${execd.pid}/mem 2>/dev/null | head -c 10`
  const answer = await execd.run({ command: 'sh', args: ['-c', script] })
  // Root reads what it likes; that is what EXECD_RUN_AS is for.
  if (process.getuid?.() !== 0) assert.equal(answer.stdout.length, 0)
  assert.equal(answer.exit_code, 0)
})

test('a stream whose supervisor is gone before it said a word is answered', { skip }, async t => {
  const execd = await startExecd(t)
  for (let round = 0; round < 40; round += 1) {
    const script = `sleep 0.00${round % 4}; kill -KILL $PPID; ${LOOP}`
    const { frames } = await execd.stream({ command: 'sh', args: ['-c', script] })
    const all = await Array.fromAsync(frames)
    assert.deepEqual([all.at(0)?.type, all.at(-1)?.type, all.at(-1)?.signal], ['start', 'exit', 'SIGKILL'])
  }
})

test('kill -9 -1 ends every command of the sandbox and no call waits', { skip: needsNamespaces }, async t => {
  const execd = await startExecd(t, {}, IN_NAMESPACE)
  for (let round = 0; round < 10; round += 1) {
    const others = [LOOP, 'exec sleep 1000', `setsid sh -c '${LOOP}' & wait`].map(async script => {
      const { frames } = await execd.stream({ command: 'sh', args: ['-c', script] })
      return (await Array.fromAsync(frames)).at(-1)?.signal
    })
    const killer = await execd.run({ command: 'sh', args: ['-c', `sleep 0.0${round}; kill -9 -1; ${LOOP}`] })
    assert.equal(killer.signal, 'SIGKILL')
    // One that was only starting then goes on to the next kill.
    await execd.run({ command: 'sh', args: ['-c', `sleep 0.1; kill -9 -1; ${LOOP}`] })
    assert.deepEqual(await Promise.all(others), ['SIGKILL', 'SIGKILL', 'SIGKILL'])
  }
  await until('nothing is left to execd', () => execd.children().length === 0)
})
