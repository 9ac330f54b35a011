import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { sh, testOnDrivers } from '../../test/machine.ts'

testOnDrivers(
  'a write through a link to a place on the host makes no file there',
  async ({ open, signal, folder }) => {
    const { exec } = await open()
    // One place that the sandbox has for itself (its own /tmp), and one that it has not.
    for (const target of [join(folder, 'made-by-agent'), '/root/made-by-agent']) {
      await sh(exec, 'ln -sf "$1" AGENTS.md', signal, target)
      await exec.writeFile('AGENTS.md', new Uint8Array(1), signal, { parents: true }).catch(() => undefined)
      assert.equal(existsSync(target), false, target)
    }
  },
  ['docker', 'bubblewrap'],
)
