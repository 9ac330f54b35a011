/** The kit on execd wherever it can run: nothing fails, and enough is checked. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runConformance } from '@beige/sandbox'
import { LEAST_PASSED, targets } from './targets.ts'

for (const { name, absent, open } of targets) {
  const reason = await absent({ mayDownload: false })
  test(name, { skip: reason === null ? false : `absent: ${reason}` }, async t => {
    await using opened = await open(t.signal)
    const report = await runConformance({ ...opened.options, signal: t.signal })
    const failed = report.checks.filter(check => check.outcome === 'failed')
    assert.deepEqual(failed, [])
    assert.ok(report.passed >= LEAST_PASSED, `${report.passed} passed`)
  })
}
