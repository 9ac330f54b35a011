/** A sandbox outlives whoever opened it, and one that died or is not what was asked for is made again. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { isError } from '@beige/protocol'
import { sh, testOnDrivers } from '../../test/machine.ts'
import { DEFAULT_LIMITS } from '../sandbox.ts'
import { createEngine } from './docker/engine.ts'
import { DEFAULT_SOCKET } from './docker/index.ts'
import { isAlive } from './host-process.ts'

testOnDrivers('opened twice it is the same one', async ({ open, signal }) => {
  const first = await open()
  await sh(first.exec, 'echo kept > /tmp/beige-kept-$1', signal, first.generation)
  const [second, third] = await Promise.all([open(), open()])
  assert.deepEqual([second.generation, third.generation], [first.generation, first.generation])
  assert.equal(
    await sh(third.exec, 'cat /tmp/beige-kept-$1; rm /tmp/beige-kept-$1', signal, first.generation),
    'kept\n',
  )
})

testOnDrivers('opened by many at once it is made once', async ({ open }) => {
  const all = await Promise.all(Array.from({ length: 8 }, () => open()))
  assert.equal(new Set(all.map(sandbox => sandbox.generation)).size, 1)
})

testOnDrivers('another spec makes another sandbox', async ({ open, signal }) => {
  const first = await open()
  const second = await open({ env: { NEW: '1' }, limits: { ...DEFAULT_LIMITS, files: 1000 } })
  assert.notEqual(second.generation, first.generation)
  assert.equal(await sh(second.exec, 'echo $NEW', signal), '1\n')
  await assert.rejects(first.exec.run({ command: 'true' }, signal), error => isError(error))
})

testOnDrivers('another process finds it, and what runs in it', async ({ open, spec, driver, signal }) => {
  const script = `
    const { openDriver } = await import(process.argv[1])
    const signal = AbortSignal.timeout(30_000)
    const sandbox = await openDriver({ kind: process.argv[2] }).open(JSON.parse(process.argv[3]), signal)
    const { stdout } = await sandbox.exec.run({ command: 'cat', args: ['note'] }, signal)
    console.log(sandbox.generation, Buffer.from(stdout).toString())
    await sandbox.detach()
  `
  const module = join(import.meta.dirname, '../index.ts')
  const args = ['--conditions=beige-source', '--input-type=module', '-e', script, module, driver.name]
  const child = () => promisify(execFile)(process.execPath, [...args, JSON.stringify(spec())], { signal })
  const first = await open()
  await sh(first.exec, 'printf hello > note', signal)
  await first.detach()
  assert.equal((await child()).stdout.trim(), `${first.generation} hello`)
  assert.equal((await open()).generation, first.generation)
})

testOnDrivers('it can sleep and wake', async ({ open, signal }) => {
  const sandbox = await open()
  const how = sandbox.driver === 'docker' ? 'asleep' : 'never'
  assert.equal(await sandbox.sleep(), how)
  await sandbox.wake()
  assert.equal(await sh(sandbox.exec, 'echo awake', signal), 'awake\n')
  await sandbox.sleep()
  assert.equal((await open()).generation, sandbox.generation) // opening wakes it
})

testOnDrivers(
  'what runs in it keeps it awake, whoever began it',
  async ({ open, signal }) => {
    const sandbox = await open()
    const successor = await open()
    const job = { scope: 'somebody', id: 'work', keep: true }
    const command = { command: 'sleep', args: ['1000'] }
    const letGo = new AbortController()
    const started = Promise.withResolvers<void>()
    const following = successor.exec.startJob(
      command,
      job,
      { onStart: started.resolve, onChunk: () => {} },
      letGo.signal,
    )
    await started.promise
    letGo.abort()
    await assert.rejects(following)
    assert.equal(await sandbox.sleep(), 'busy')
    await sandbox.exec.killJob(job, signal)
    assert.equal(await sandbox.sleep(), 'asleep')
  },
  ['docker'],
)

testOnDrivers(
  'one that sleeps can be ended',
  async ({ open, signal }) => {
    const sandbox = await open()
    await sh(sandbox.exec, 'echo kept > kept', signal)
    await sandbox.sleep()
    await sandbox.close()
    const next = await open()
    assert.notEqual(next.generation, sandbox.generation)
    assert.equal(await sh(next.exec, 'cat kept', signal), 'kept\n')
  },
  ['docker'],
)

testOnDrivers(
  'an abort at any moment of the opening leaves nothing',
  async ({ spec, driver, open, signal }) => {
    const stateFile = join(spec().runDir, 'sandbox.json')
    for (const turns of [0, 1, 4, 16, 64, 256, 1024]) {
      const abort = new AbortController()
      const opening = driver.open(spec(), abort.signal)
      const settled = opening.then(
        sandbox => sandbox.close(),
        error => assert.ok(isError(error, 'aborted'), String(error)),
      )
      for (let turn = 0; turn < turns; turn++) await new Promise(resolve => setImmediate(resolve))
      abort.abort()
      await settled
      if (!existsSync(stateFile)) continue // nothing had been started
      const { handle } = JSON.parse(readFileSync(stateFile, 'utf8'))
      if (handle.pid) assert.equal(isAlive(handle), false, `after ${turns} turns`)
      else assert.equal(await createEngine(DEFAULT_SOCKET).find(handle.containerId, signal), null)
    }
    assert.equal((await open()).driver, driver.name)
  },
)

testOnDrivers('many at once, each its own', async ({ driver, open, spec, folder, signal }) => {
  // A container costs an engine a good part of a second of processor time; the others cost next to nothing.
  const names = Array.from({ length: driver.name === 'docker' ? 8 : 24 }, (_none, at) => `${spec().id}-${at}`)
  const all = await Promise.all(
    names.map(id =>
      open({ id, workspaceDir: join(folder, id, 'workspace'), runDir: join(folder, id, 'run') }),
    ),
  )
  assert.equal(new Set(all.map(sandbox => sandbox.generation)).size, names.length)
  await Promise.all(all.map(({ exec }, at) => sh(exec, 'echo "$1" > mine', signal, `${at}`)))
  const seen = await Promise.all(all.map(({ exec }) => sh(exec, 'cat mine', signal)))
  assert.deepEqual(seen.map(Number), [...names.keys()])
})
