import assert from 'node:assert/strict'
import { test } from 'node:test'
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
