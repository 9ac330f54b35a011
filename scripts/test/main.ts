/**
 * `npm test`: builds what tests start (execd, the bundles, the one-file agent), then runs every test of the repository. Words after `--`
 * pick the test files whose path holds one of them. The last lines are node:test's totals.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { runCommand } from '../check/command.ts'
import { readTree } from '../check/tree.ts'
import { inGroups } from './groups.ts'
import { startReport } from './report.ts'
import { runTests } from './run-tests.ts'
import { allTestFiles } from './test-files.ts'

const root = join(import.meta.dirname, '../..')
const wanted = process.argv.slice(2)

await build('execd', 'packages/execd/build.sh', ['sh', 'packages/execd/build.sh'])
await build('bundles', 'scripts/build/main.ts', [
  process.execPath,
  '--conditions=beige-source',
  'scripts/build/main.ts',
])

await build('one-file agent', 'scripts/build/binary.ts', [
  process.execPath,
  '--conditions=beige-source',
  'scripts/build/binary.ts',
])

const tree = readTree(root)
const files = allTestFiles(tree).filter(
  path => wanted.length === 0 || wanted.some(word => path.includes(word)),
)
console.log(`${files.length} test files\n`)
const report = startReport(process.stdout)
const result = await runTests({ root, files: inGroups(tree, root, files), onEvent: report.onEvent })
await report.end(result)
process.exitCode = result.totals.failed === 0 && files.length > 0 ? 0 : 1

/** A build that fails is said and the tests that need it fail or are skipped by name; the others still run. */
async function build(name: string, script: string, argv: readonly string[]): Promise<void> {
  if (!existsSync(join(root, script))) return
  const sinceMs = performance.now()
  const { exitCode, output } = await runCommand(argv, root)
  const seconds = ((performance.now() - sinceMs) / 1000).toFixed(1)
  console.log(exitCode === 0 ? `built ${name} (${seconds} s)` : `${name} was not built:\n${output}`)
}
