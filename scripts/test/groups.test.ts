import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'node:test'
import { treeOf } from '../check/tree.ts'
import { inGroups } from './groups.ts'

const PLAIN = "import test from 'node:test'\ntest('holds', () => {})\n"

test('unit tests of a package share a process; engine tests and those with hooks of their own do not', () => {
  const texts = {
    'packages/a/src/one.test.ts': PLAIN,
    'packages/a/src/deep/two.test.ts': PLAIN,
    'packages/a/src/hooked.test.ts': `${PLAIN}afterEach(() => {})\n`,
    'packages/a/src/docker.engine.test.ts': PLAIN,
    'packages/b/src/one.test.ts': PLAIN,
  }
  const root = mkdtempSync(join(tmpdir(), 'beige-groups-'))
  try {
    const files = inGroups(treeOf(texts), root, Object.keys(texts))
    assert.deepEqual(files, [
      'packages/a/src/hooked.test.ts',
      'packages/a/src/docker.engine.test.ts',
      '.cache/test-groups/packages-a-1.test.ts',
      '.cache/test-groups/packages-b-1.test.ts',
    ])
    const group = readFileSync(join(root, '.cache/test-groups/packages-a-1.test.ts'), 'utf8')
    assert.match(group, /"packages\/a\/src\/one\.test\.ts",\n +"packages\/a\/src\/deep\/two\.test\.ts"/)
  } finally {
    rmSync(root, { recursive: true })
  }
})
