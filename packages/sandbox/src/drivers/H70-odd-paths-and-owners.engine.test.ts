import assert from 'node:assert/strict'
import { chmodSync, chownSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { geteuid } from 'node:process'
import { sh, testOnDrivers } from '../../test/machine.ts'

testOnDrivers(
  'a colon, a comma or a space in a path on the host changes nothing',
  async ({ open, signal, folder }) => {
    const odd = join(folder, 'a:etc:rw, readonly')
    mkdirSync(odd, { mode: 0o755 })
    writeFileSync(join(odd, 'note'), 'here', { mode: 0o644 })
    const { exec } = await open({ mounts: [{ host: odd, inside: '/skills/odd:name', writable: false }] })
    assert.equal(await sh(exec, 'cat "/skills/odd:name/note"', signal), 'here')
    assert.notEqual((await exec.run({ command: 'touch', args: ['/skills/odd:name/x'] }, signal)).exitCode, 0)
  },
  ['docker', 'bubblewrap'],
)

testOnDrivers('a run folder with a very long path works', async ({ open, signal, folder }) => {
  const { exec } = await open({ runDir: join(folder, 'x'.repeat(150), 'run') })
  assert.equal(await sh(exec, 'echo yes', signal), 'yes\n')
})

const asRoot = geteuid?.() === 0 ? false : 'only root can make a workspace of root'
testOnDrivers(
  'a workspace of root is refused, unless a user is named',
  async ({ open, folder, signal }, context) => {
    if (asRoot) return context.skip(asRoot)
    const workspaceDir = join(folder, 'of-root')
    mkdirSync(workspaceDir, { mode: 0o777 })
    chownSync(workspaceDir, 0, 0)
    await assert.rejects(open({ workspaceDir }), { code: 'workspace_root_owned' })
    const { exec } = await open({ workspaceDir, user: { uid: 12345, gid: 12345 } })
    assert.equal((await sh(exec, 'id -u; id -g', signal)).trim(), '12345\n12345')
  },
)

testOnDrivers(
  'started by root, nothing that a loader obeys is taken into the environment',
  async ({ open }, context) => {
    if (asRoot) return context.skip(asRoot)
    await assert.rejects(open({ env: { LD_PRELOAD: '/workspace/evil.so' } }), { code: 'bad_spec' })
  },
  ['bubblewrap'],
)

testOnDrivers(
  'a workspace that its owner alone may enter works',
  async ({ open, folder, signal }, context) => {
    if (asRoot) return context.skip(asRoot)
    const workspaceDir = join(folder, 'closed')
    mkdirSync(workspaceDir)
    chownSync(workspaceDir, 12345, 12345)
    chmodSync(workspaceDir, 0o700)
    const { exec, workspace } = await open({ workspaceDir })
    assert.equal(await sh(exec, 'echo mine > note; cat note; pwd', signal), `mine\n${workspace}\n`)
    assert.equal(statSync(join(workspaceDir, 'note')).uid, 12345)
  },
)
