import assert from 'node:assert/strict'
import { chownSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { geteuid } from 'node:process'
import { test } from 'node:test'
import { sh, testOnDrivers } from '../../test/machine.ts'
import { DEFAULT_LIMITS, type SandboxSpec } from '../sandbox.ts'
import { checkSpec } from './spec-check.ts'

const GOOD: SandboxSpec = {
  ...{ id: 'scout', labels: {}, mounts: [], env: {}, network: 'none' },
  ...{ workspaceDir: '/srv/ada/site', runDir: '/srv/ada/.beige/scout', limits: DEFAULT_LIMITS },
}
const mount = (host: string, inside: string) => ({ mounts: [{ host, inside, writable: false }] })
const BAD: Readonly<Record<string, Partial<SandboxSpec>>> = {
  'a name that leaves its folder': { id: '../x' },
  'a name with a colon': { id: 'a:b' },
  'a name in capitals': { id: 'Scout' },
  'a name like an option': { id: '-rm' },
  'a name of 64 letters': { id: 'a'.repeat(64) },
  'no name': { id: '' },
  'a relative workspace': { workspaceDir: 'site' },
  'a path that climbs': { workspaceDir: '/srv/ada/../../etc' },
  'a path with a zero byte': { runDir: '/srv/a\0b' },
  'the root of the host': mount('/', '/host'),
  'the sockets of the host': mount('/var/run', '/x'),
  'the processes of the host': mount('/proc', '/x'),
  'a mount over our own folder': mount('/srv/x', '/beige/exec'),
  'a mount over the launchers': mount('/srv/x', '/tools/bin'),
  'a mount in the workspace': mount('/srv/x', '/workspace/x'),
  'a mount that climbs': mount('/srv/x', '/skills/../beige'),
  'a variable that is none': { env: { 'A=B': '1' } },
  'a variable with a zero byte': { env: { A: 'x\0EXECD_LISTEN=y' } },
  'a variable of execd': { env: { EXECD_PEERS: 'any' } },
  'no limit': { limits: { ...DEFAULT_LIMITS, pids: 0 } },
  'an endless limit': { limits: { ...DEFAULT_LIMITS, memoryBytes: Number.POSITIVE_INFINITY } },
  root: { user: { uid: 0, gid: 0 } },
}
for (const [title, change] of Object.entries(BAD)) {
  test(`refused: ${title}`, () => {
    assert.throws(() => checkSpec({ ...GOOD, ...change }), { code: 'bad_spec' })
  })
}
test('a good spec passes', () => checkSpec(GOOD))

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
