/** `npm run check`: types, lint and format, the static checks and the unit tests; one line each, problems below it. */
import { join } from 'node:path'
import { inGroups } from '../test/groups.ts'
import { runTests } from '../test/run-tests.ts'
import { unitTestFiles } from '../test/test-files.ts'
import { runCommand } from './command.ts'
import { staticChecks } from './static-checks.ts'
import { type Problem, readTree } from './tree.ts'

type Outcome = { name: string; detail: string; problems: readonly string[] }

const UNIT_FILE_LIMIT_MS = 60_000
const SLOW_FILE_MS = 1000 // such a file belongs to the *.engine.test.ts ones

const root = join(import.meta.dirname, '../..')
const startedMs = performance.now()

const tree = readTree(root)
const types = command('types', 'typescript/bin/tsc', ['-p', '.'])
const lint = command('lint and format', '@biomejs/biome/bin/biome', ['check', '--colors=off', '.'])
let failures = 0
for (const check of staticChecks) {
  report({ name: check.name, detail: check.describe?.(tree) ?? '', problems: check.find(tree).map(textOf) })
}
report(await types)
report(await lint)
report(await unitTests())
const seconds = ((performance.now() - startedMs) / 1000).toFixed(1)
console.log(failures === 0 ? `check: ok (${seconds} s)` : `check: ${failures} failed (${seconds} s)`)
process.exitCode = failures === 0 ? 0 : 1

async function command(name: string, script: string, args: readonly string[]): Promise<Outcome> {
  const since = performance.now()
  const { exitCode, output } = await runCommand(
    [process.execPath, join(root, 'node_modules', script), ...args],
    root,
  )
  const detail = `${((performance.now() - since) / 1000).toFixed(1)} s`
  return { name, detail, problems: exitCode === 0 ? [] : [output.trim()] }
}

async function unitTests(): Promise<Outcome> {
  const since = performance.now()
  const files = inGroups(tree, root, unitTestFiles(tree))
  const { totals, failed, slowest } = await runTests({ root, files, fileLimitMs: UNIT_FILE_LIMIT_MS })
  const slow = slowest
    .filter(({ ms }) => ms > SLOW_FILE_MS)
    .map(({ file, ms }) => `${file} ${(ms / 1000).toFixed(1)} s`)
  const detail = `${totals.passed} passed, ${totals.skipped} skipped, ${((performance.now() - since) / 1000).toFixed(1)} s`
  return { name: 'unit tests', detail: [detail, ...slow].join('\n  slow: '), problems: failed }
}

function report({ name, detail, problems }: Outcome): void {
  if (problems.length > 0) failures += 1
  console.log(`${problems.length === 0 ? '✓' : '✗'} ${name.padEnd(18)} ${detail}`)
  for (const problem of problems) console.log(`  ${problem.replaceAll('\n', '\n  ')}`)
}

function textOf({ path, line, says }: Problem): string {
  return line === undefined ? `${path}: ${says}` : `${path}:${line}: ${says}`
}
