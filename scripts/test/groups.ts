/**
 * Puts the unit tests of a package into one process: most of the time of a small test file goes into starting Node and
 * reading what it imports.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Tree } from '../check/tree.ts'
import { isEngineTest } from './test-files.ts'

const FOLDER = '.cache/test-groups'
const MAX_FILES = 15 // so that the processors end at about the same time

// Hooks of a file's top level would run around the tests of all others; what a process has but once can not be shared.
const NEEDS_ITS_OWN_PROCESS =
  /^(before|after)(Each)?\(|process\.(chdir|exit)\(|process\.env\.\w+ =[^=]|memoryUsage/m

/** Test files, those that may share a process replaced by a file that loads them. */
export function inGroups(tree: Tree, root: string, files: readonly string[]): string[] {
  const shares = (path: string): boolean =>
    !isEngineTest(path) && !NEEDS_ITS_OWN_PROCESS.test(tree.files.get(path) ?? '')
  const byPackage = Map.groupBy(files.filter(shares), path => path.split('/').slice(0, 2).join('-'))
  const groups = [...byPackage].flatMap(([name, paths]) =>
    chunks(paths).map((chunk, index) => writeGroup(root, `${name}-${index + 1}`, chunk)),
  )
  return [...files.filter(path => !shares(path)), ...groups]
}

function chunks(paths: readonly string[]): string[][] {
  const count = Math.ceil(paths.length / MAX_FILES)
  return Array.from({ length: count }, (_, index) => paths.filter((_, place) => place % count === index))
}

function writeGroup(root: string, name: string, paths: readonly string[]): string {
  const file = `${FOLDER}/${name}.test.ts`
  const list = paths.map(path => `  ${JSON.stringify(path)},\n`).join('')
  mkdirSync(join(root, FOLDER), { recursive: true })
  writeFileSync(
    join(root, file),
    `import { loadTests } from '../../scripts/test/load-tests.ts'\n\nawait loadTests([\n${list}])\n`,
  )
  return file
}
