/** Runs execd's own Rust tests and shows each as a test of this run. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import test from 'node:test'

const folder = join(import.meta.dirname, '../../packages/execd')
const hasCargo = spawnSync('cargo', ['--version']).status === 0
const LINE = /^test (.+) \.\.\. (ok|FAILED|ignored)/gm

test("execd's Rust tests", { skip: hasCargo ? false : 'absent: cargo' }, async t => {
  const { status, stdout, stderr } = spawnSync(
    'cargo',
    ['test', '--locked', '--quiet', '--', '--format=pretty'],
    {
      cwd: folder,
      encoding: 'utf8',
    },
  )
  const results = [...stdout.matchAll(LINE)].map(([, name = '', result]) => ({ name, result }))
  for (const { name, result } of results) {
    await t.test(name, { skip: result === 'ignored' ? 'ignored' : false }, () =>
      assert.equal(result, 'ok', stdout),
    )
  }
  assert.equal(status, 0, stdout + stderr)
  assert.notEqual(results.length, 0, 'no Rust test ran')
})
