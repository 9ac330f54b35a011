import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { PROGRAMS } from './products.ts'

const root = join(import.meta.dirname, '../..')

for (const workspace of ['packages/agent', 'packages/gateway']) {
  const main = join(root, workspace, 'dist/main.js')
  const skip = existsSync(main) ? false : 'absent: bundle (npm run build)'
  test(`the bundle of ${workspace} has its entries and starts`, { skip }, () => {
    for (const name of Object.keys(PROGRAMS[workspace] ?? {})) {
      assert.ok(existsSync(join(root, workspace, `dist/${name}.js`)), name)
    }
    const { stdout, stderr, status } = spawnSync(process.execPath, [main, '--version'], { encoding: 'utf8' })
    assert.deepEqual([status, stderr], [0, ''])
    assert.match(stdout, /^\d+\.\d+\.\d+\n$/)
  })
}
