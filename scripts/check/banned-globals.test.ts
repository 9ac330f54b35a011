import assert from 'node:assert/strict'
import test from 'node:test'
import { checkBannedGlobals } from './banned-globals.ts'
import { treeOf } from './tree.ts'

const problemsIn = (path: string, text: string, allowed: string[] = []): string[] =>
  checkBannedGlobals(treeOf({ [path]: text }), allowed).map(({ says }) => says)

test('what the simulator controls is refused in each package that it runs', () => {
  for (const text of [
    'const t = Date.now()',
    'const t = new Date()',
    'const t = performance.now()',
    'const r = Math.random()',
    "const r = await fetch('http://a')",
    'const r = globalThis.fetch',
    'const home = process.env.HOME',
    "const home = process['env']",
    "import { readFileSync } from 'node:fs'",
    "import { readFile } from 'node:fs/promises'",
    "const fs = await import('fs')",
  ]) {
    for (const name of ['sessions', 'host', 'harness', 'models']) {
      assert.equal(problemsIn(`packages/${name}/src/a.ts`, text).length, 1, `${name}: ${text}`)
    }
  }
})

test('main.ts, tests, listed files and other packages may', () => {
  const text = 'const t = Date.now()'
  assert.deepEqual(problemsIn('packages/host/src/main.ts', text), [])
  assert.deepEqual(problemsIn('packages/host/src/a.test.ts', text), [])
  assert.deepEqual(problemsIn('packages/sandbox/src/a.ts', text), [])
  assert.deepEqual(problemsIn('packages/host/src/a.ts', text, ['packages/host/src/a.ts']), [])
})

test('words in comments, in texts and of other objects are left alone', () => {
  const text =
    "// Date.now() and fetch('x')\nconst says = 'Date.now()'\nworld.fetch(new Date(0), clock.now())"
  assert.deepEqual(problemsIn('packages/host/src/a.ts', text), [])
})

test('a listed file that is gone is reported', () => {
  assert.deepEqual(problemsIn('packages/host/src/a.ts', '', ['packages/host/src/old.ts']), [
    'packages/host/src/old.ts does not exist',
  ])
})
