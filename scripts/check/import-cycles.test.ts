import assert from 'node:assert/strict'
import test from 'node:test'
import { checkImportCycles } from './import-cycles.ts'
import { treeOf } from './tree.ts'

const manifest = (name: string): string => JSON.stringify({ name })

test('files that import each other in a circle are refused', () => {
  const problems = checkImportCycles(
    treeOf({
      'packages/host/src/a.ts': "import { b } from './b.ts'",
      'packages/host/src/b.ts': "import { type C } from './parts/c.ts'",
      'packages/host/src/parts/c.ts': "export * from '../a.ts'",
      'packages/host/src/free.ts': "import './a.ts'",
    }),
  )
  assert.equal(problems.length, 1)
  assert.match(problems[0]?.says ?? '', /a\.ts → .*b\.ts → .*c\.ts → .*a\.ts$/)
})

test('a circle over two packages is refused', () => {
  const problems = checkImportCycles(
    treeOf({
      'packages/host/package.json': manifest('@beige/host'),
      'packages/harness/package.json': manifest('@beige/harness'),
      'packages/host/src/index.ts': "export * from '@beige/harness'",
      'packages/harness/src/index.ts': "export * from './turn.ts'",
      'packages/harness/src/turn.ts': "import '@beige/host'",
    }),
  )
  assert.equal(problems.length, 1)
})

test('two ways to one file are not a circle', () => {
  const problems = checkImportCycles(
    treeOf({
      'packages/host/src/a.ts': "import './b.ts'\nimport './c.ts'",
      'packages/host/src/b.ts': "import './c.ts'",
      'packages/host/src/c.ts': '',
    }),
  )
  assert.deepEqual(problems, [])
})

test('a file may name the types of one that loads it', () => {
  const problems = checkImportCycles(
    treeOf({
      'packages/host/src/session.ts': "import { prompt } from './prompt.ts'",
      'packages/host/src/prompt.ts': "import type { Session } from './session.ts'",
    }),
  )
  assert.deepEqual(problems, [])
})
