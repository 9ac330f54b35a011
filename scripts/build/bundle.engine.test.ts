import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { postgresMissing, startPostgres } from '@beige/test-support'
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

test('the bundle of the agent has what a database needs: the client and the schema', async t => {
  const main = join(root, 'packages/agent/dist/main.js')
  const missing = postgresMissing() || (existsSync(main) ? false : 'absent: bundle (npm run build)')
  if (missing) return t.skip(missing)
  await using server = await startPostgres()
  const args = [main, 'sessions', 'migrate', '--store', server.url]
  const { stdout, stderr, status } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  assert.deepEqual([status, stderr], [0, ''])
  assert.match(stdout, /applied 0001-sessions\.sql/)
})
