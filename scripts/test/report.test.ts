import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'node:test'

const planted = `
import test from 'node:test'
test('holds', () => {})
test('needs docker', { skip: 'absent: docker' }, () => {})
test('breaks', () => { throw new Error('broken on purpose') })
`

// A process of its own: node:test runs nothing when it is called from inside a run.
const runner = `
const { runTests } = await import(process.argv[2] + '/run-tests.ts')
const { startReport } = await import(process.argv[2] + '/report.ts')
const report = startReport(process.stdout)
const run = await runTests({ root: process.cwd(), files: process.argv.slice(3), onEvent: report.onEvent })
await report.end(run)
console.error(JSON.stringify(run))
`

test('a run names what was skipped and what failed, and ends with the totals of node:test', () => {
  const root = mkdtempSync(join(tmpdir(), 'beige-report-'))
  try {
    writeFileSync(join(root, 'a.test.mjs'), planted)
    writeFileSync(join(root, 'b.test.mjs'), "import './gone.mjs'")
    const { NODE_TEST_CONTEXT: _, ...env } = process.env
    writeFileSync(join(root, 'runner.mjs'), runner)
    const argv = ['runner.mjs', import.meta.dirname, 'a.test.mjs', 'b.test.mjs']
    const { stdout, stderr } = spawnSync(process.execPath, argv, { cwd: root, env, encoding: 'utf8' })

    const run = JSON.parse(stderr)
    assert.deepEqual(run.totals, { passed: 1, failed: 2, skipped: 1 })
    assert.match(run.failed[0], /^a\.test\.mjs: breaks\n.*broken on purpose/)
    assert.match(run.failed[1], /^b\.test\.mjs\n[\s\S]*gone\.mjs/)
    assert.match(stdout, /skipped, absent: docker: 1\n {2}- needs docker \(a\.test\.mjs\)/)
    assert.match(
      stdout,
      /\nℹ tests 4\nℹ suites 0\nℹ pass 1\nℹ fail 2\n.*\nℹ skipped 1\nℹ todo 0\nℹ duration_ms [\d.]+\s*$/,
    )
  } finally {
    rmSync(root, { recursive: true })
  }
})
