import assert from 'node:assert/strict'
import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { openNotifyToken } from '@beige/host'
import { newSessionId, systemClock, systemRandom } from '@beige/protocol'
import { notifyKey, notifyOf } from './notify.ts'

async function inFolder(use: (folder: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'beige-notify-'))
  try {
    await use(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

test('H104-the-notify-key: one for all who want it at once, for its owner alone, the same later', () =>
  inFolder(async folder => {
    const state = join(folder, 'state')
    const keys = await Promise.all([...Array(8)].map(() => notifyKey(state)))
    const later = await notifyKey(state)
    for (const key of keys) assert.deepEqual(key, later)
    assert.equal(later.length, 32)
    const file = join(state, 'notify.key')
    assert.equal(statSync(file).mode & 0o777, 0o600)
    assert.deepEqual(readdirSync(state), ['notify.key'])
    chmodSync(file, 0o644)
    assert.deepEqual(await notifyKey(state), later)
    assert.equal(statSync(file).mode & 0o777, 0o600)
    writeFileSync(file, 'short')
    await assert.rejects(notifyKey(state), { code: 'notify_key' })
  }))

test('a command is started with the session, its address and a token that outlives it', async () => {
  const key = new Uint8Array(32).fill(1)
  const id = newSessionId(systemClock, systemRandom)
  const { url, token } = notifyOf({ origin: 'http://a.test:8', key }, id, 1000, systemClock)()
  assert.equal(url, `http://a.test:8/_beyond/exec-notify?session_id=${id}`)
  const claims = openNotifyToken(token, [key], systemClock.now())
  assert.deepEqual([claims?.session_id, claims?.scope, claims?.tenant], [id, id, ''])
  assert.ok((claims?.exp ?? 0) * 1000 > systemClock.now() + 25 * 3600_000)
})
