/** `npm run hazards`: runs the tests of every hazard and prints id, test file and result, or what a line waits for. */
import { join } from 'node:path'
import { readTree } from '../check/tree.ts'
import { runTests } from '../test/run-tests.ts'
import { hazardProblems, hazardsOf } from './hazards.ts'
import { WAITING } from './waiting.ts'

const root = join(import.meta.dirname, '../..')
const { files } = readTree(root)
const hazards = hazardsOf(files, WAITING)
const run = await runTests({ root, files: hazards.flatMap(({ tests }) => tests) })

let waiting = 0
for (const { id, title, tests, waitsFor } of hazards) {
  if (tests.length === 0) {
    waiting += 1
    console.log(`${id.padEnd(5)} waiting  ${(waitsFor ?? 'nothing').padEnd(16)} ${title}`)
  }
  for (const file of tests) console.log(`${id.padEnd(5)} ${resultOf(file).padEnd(8)} ${file}`)
}
for (const failure of run.failed) console.log(`\n${failure}`)
const problems = hazardProblems(files, WAITING)
for (const { path, says } of problems) console.log(`${path}: ${says}`)
const tested = hazards.length - waiting
console.log(
  `\n${hazards.length} hazards: ${tested} tested, ${waiting} waiting; ${run.totals.failed} tests failed`,
)
process.exitCode = run.totals.failed === 0 && problems.length === 0 ? 0 : 1

function resultOf(file: string): string {
  if (run.failed.some(text => text.startsWith(file))) return 'FAILED'
  return run.skipped.some(skip => skip.file === file) ? 'skipped' : 'ok'
}
