import assert from 'node:assert/strict'
import test from 'node:test'
import { hazardProblems, hazardsOf } from './hazards.ts'

const document =
  '- **H01** A torn tail → sealed.\n- **H02** A full disk → ended.\n- **H100** A typo → an error.\n'
const files = (...tests: string[]): Map<string, string> =>
  new Map([['docs/hazards.md', document], ...tests.map((path): [string, string] => [path, ''])])

test('a hazard has its title, its tests and what it waits for', () => {
  const path = 'packages/sessions/src/H01-torn-tail.engine.test.ts'
  assert.deepEqual(hazardsOf(files(path), { H02: 'sessions' }), [
    { id: 'H01', title: 'A torn tail', tests: [path], waitsFor: undefined },
    { id: 'H02', title: 'A full disk', tests: [], waitsFor: 'sessions' },
    { id: 'H100', title: 'A typo', tests: [], waitsFor: undefined },
  ])
})

test('a hazard without a test that does not wait is a problem, and so is a test that was renamed away', () => {
  const says = hazardProblems(files('packages/sessions/src/torn-tail.test.ts'), {
    H02: 'sessions',
    H100: 'gateway',
  })
  assert.deepEqual(says, [{ path: 'docs/hazards.md', says: 'H01 has no test' }])
})

test('a hazard that waits although it has a test, and a test of no hazard, are problems', () => {
  const tree = files(
    'packages/a/src/H01-x.test.ts',
    'packages/a/src/H02-x.test.ts',
    'packages/a/src/H77-x.test.ts',
  )
  assert.deepEqual(
    hazardProblems(tree, { H01: 'sessions', H100: 'gateway' }).map(({ says }) => says),
    ['H01 has a test: take it off the list', 'H77 is not in docs/hazards.md'],
  )
})
