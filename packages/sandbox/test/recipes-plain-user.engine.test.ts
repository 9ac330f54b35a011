/** Recipe 4 of docs/sandboxes.md: execd of a plain user on loopback, who has the token and who has not. */
import assert from 'node:assert/strict'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { openDriver } from '../src/index.ts'
import { execdAbsence, sh, TEST_MS, until } from './machine.ts'
import {
  anySpec,
  asPlainUser,
  endAfter,
  freePort,
  plainUser,
  recipe,
  recipeFolder,
  runBlock,
} from './recipes.ts'

const skip = execdAbsence() ?? false

test('a plain user without root', { skip, timeout: TEST_MS }, async context => {
  const home = recipeFolder(context, true)
  const [block = ''] = recipe(4)
  const port = await freePort()
  const { pid } = runBlock(block.replaceAll('127.0.0.1:8080', `127.0.0.1:${port}`), home, asPlainUser)
  endAfter(context, pid)

  const url = `http://127.0.0.1:${port}`
  const token = readFileSync(join(home, '.execd/token'), 'utf8').trim()
  assert.equal(statSync(join(home, '.execd/token')).mode & 0o777, 0o600)
  const driver = openDriver({ kind: 'remote', url, headers: { Authorization: `Bearer ${token}` } })
  await until(() => driver.open(anySpec, context.signal).then(Boolean, () => false), context.signal)
  const sandbox = await driver.open(anySpec, context.signal)
  assert.equal(sandbox.workspace, join(home, 'work'))
  const seen = await sandbox.inspect(context.signal)
  assert.deepEqual([seen.uid, seen.gid], [plainUser.uid, plainUser.gid])
  assert.doesNotMatch(await sh(sandbox.exec, 'env', context.signal), /^(SSH|DOCKER|npm)/m)
  await sandbox.exec.writeFile(join(home, 'work/made'), Buffer.from('made'), context.signal)
  assert.equal(statSync(join(home, 'work/made')).uid, plainUser.uid)
  await sandbox.close()
  assert.ok(process.kill(pid, 0), 'an endpoint elsewhere is not ours to end')

  for (const headers of [{}, { Authorization: 'Bearer wrong' }]) {
    const stranger = openDriver({ kind: 'remote', url, headers })
    await assert.rejects(stranger.open(anySpec, context.signal), { code: 'endpoint_refused' })
  }
})
