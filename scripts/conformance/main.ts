/**
 * `npm run conformance:exec`: the conformance kit on execd wherever it can run. Words after `--` pick the targets whose name
 * holds one of them. A target whose engine is absent is said. The last line adds all of them up.
 */
import { join } from 'node:path'
import { type CheckResult, runConformance } from '@beige/sandbox'
import { runCommand } from '../check/command.ts'
import { LEAST_PASSED, targets } from './targets.ts'

const root = join(import.meta.dirname, '../..')
const wanted = process.argv.slice(2)
const say = (text: string) => console.log(text)

const built = await runCommand(['sh', 'packages/execd/build.sh'], root)
if (built.exitCode !== 0) say(`execd was not built:\n${built.output}`)
const stop = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort())

let [passed, failed] = [0, 0]
for (const { name, absent, open } of targets) {
  if (wanted.length > 0 && !wanted.some(word => name.includes(word))) continue
  const reason = await absent({ mayDownload: true })
  if (reason !== null) {
    say(`${name}: absent: ${reason}`)
    continue
  }
  await using opened = await open(stop.signal)
  const report = await runConformance({ ...opened.options, signal: stop.signal })
  for (const check of report.checks) if (check.outcome !== 'ok') say(`  ${lineOf(check)}`)
  const isShort = report.passed < LEAST_PASSED
  if (isShort) say(`  failed  fewer than ${LEAST_PASSED} checks could be made`)
  passed += report.passed
  failed += report.failed + (isShort ? 1 : 0)
  const seconds = (report.ms / 1000).toFixed(1)
  say(`${name}: ${report.passed} passed, ${report.failed} failed, ${report.skipped} skipped (${seconds} s)`)
}
say(`${passed} passed, ${failed} failed`)
process.exitCode = failed === 0 && passed > 0 ? 0 : 1

function lineOf(check: CheckResult): string {
  return `${check.outcome.padEnd(7)} ${check.name}${'reason' in check ? `: ${check.reason}` : ''}`
}
