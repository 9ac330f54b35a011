import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'node:test'
import type { TestRun } from './run-tests.ts'

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
const [fileLimitMs, ...files] = process.argv.slice(3)
const run = await runTests({ root: process.cwd(), files, onEvent: report.onEvent, fileLimitMs: Number(fileLimitMs) })
await report.end(run)
console.error(JSON.stringify(run))
`

const endless = 'setInterval(() => {}, 1000)'

test('a file that never ends is killed and named, and the others go on', { timeout: 60_000 }, () => {
  const files = { 'endless.test.mjs': endless, 'a.test.mjs': planted, 'b.test.mjs': planted }
  const { run, stdout } = runPlanted(files, 3000)
  assert.match(run.failed.join(), /endless\.test\.mjs: had not ended after 3 s and was killed/)
  assert.deepEqual(run.totals, { passed: 2, failed: 3, skipped: 2 })
  assert.match(stdout, /\nℹ tests \d+\n/)
})

test('a run names what was skipped and what failed, and ends with the totals of node:test', () => {
  const { run, stdout } = runPlanted({ 'a.test.mjs': planted, 'b.test.mjs': "import './gone.mjs'" }, 10_000)
  assert.deepEqual(run.totals, { passed: 1, failed: 2, skipped: 1 })
  assert.match(run.failed[0] ?? '', /^a\.test\.mjs: breaks\n.*broken on purpose/)
  assert.match(run.failed[1] ?? '', /^b\.test\.mjs\n[\s\S]*gone\.mjs/)
  assert.match(stdout, /skipped, absent: docker: 1\n {2}- needs docker \(a\.test\.mjs\)/)
  assert.match(
    stdout,
    /\nℹ tests 4\nℹ suites 0\nℹ pass 1\nℹ fail 2\n.*\nℹ skipped 1\nℹ todo 0\nℹ duration_ms [\d.]+\s*$/,
  )
})

function runPlanted(files: Record<string, string>, fileLimitMs: number): { run: TestRun; stdout: string } {
  const root = mkdtempSync(join(tmpdir(), 'beige-report-'))
  try {
    for (const [name, text] of Object.entries({ ...files, 'runner.mjs': runner }))
      writeFileSync(join(root, name), text)
    const { NODE_TEST_CONTEXT: _, ...env } = process.env
    const argv = ['runner.mjs', import.meta.dirname, String(fileLimitMs), ...Object.keys(files)]
    const { stdout, stderr } = spawnSync(process.execPath, argv, { cwd: root, env, encoding: 'utf8' })
    return { run: JSON.parse(stderr), stdout }
  } finally {
    rmSync(root, { recursive: true })
  }
}
