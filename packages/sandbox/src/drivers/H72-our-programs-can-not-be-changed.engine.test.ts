import assert from 'node:assert/strict'
import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { sh, testOnDrivers } from '../../test/machine.ts'

testOnDrivers(
  'execd, the tool client, the launchers and the socket folder are read-only inside',
  async ({ open, signal, folder }) => {
    const [launchersDir, socketsDir] = [join(folder, 'launchers'), join(folder, 'sockets')]
    for (const path of [launchersDir, socketsDir]) mkdirSync(path, { mode: 0o755 })
    symlinkSync('/beige/tool-client', join(launchersDir, 'kv'))
    const { exec } = await open({ launchersDir, socketsDir })
    for (const path of ['/beige/execd', '/beige/tool-client', '/tools/bin/kv']) {
      assert.equal((await sh(exec, 'test -x "$1" && echo there', signal, path)).trim(), 'there', path)
    }
    const changes = [
      'echo x > /beige/execd',
      'rm /beige/tool-client',
      'mv /beige/execd /beige/x',
      'rm /tools/bin/kv',
    ]
    for (const change of [...changes, 'ln -s /bin/true /tools/bin/new', 'touch /beige/sock/gateway.sock']) {
      assert.notEqual((await exec.run({ command: 'sh', args: ['-c', change] }, signal)).exitCode, 0, change)
    }
    assert.equal((await sh(exec, 'command -v kv', signal)).trim(), '/tools/bin/kv')
  },
  ['docker', 'bubblewrap'],
)
