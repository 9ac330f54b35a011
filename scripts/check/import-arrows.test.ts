import assert from 'node:assert/strict'
import test from 'node:test'
import { checkImportArrows } from './import-arrows.ts'
import { treeOf } from './tree.ts'

const manifest = (name: string, dependencies: Record<string, string> = {}, more: object = {}): string =>
  JSON.stringify({ name, exports: { '.': {} }, dependencies, ...more })

const packages = {
  'packages/protocol/package.json': manifest('@beige/protocol'),
  'packages/sandbox/package.json': manifest('@beige/sandbox', { '@beige/protocol': '0.1.0' }),
  'packages/tui/package.json': manifest('@beige/tui', { '@earendil-works/pi-coding-agent': '1.6.0' }),
  'plugins/kv/package.json': manifest('@beige/plugin-kv', { '@beige/plugin-sdk': '0.1.0' }),
  'packages/plugin-sdk/package.json': manifest('@beige/plugin-sdk'),
  'test-support/package.json': manifest('@beige/test-support'),
  'bench/package.json': manifest('@beige/bench', { '@earendil-works/pi-coding-agent': '1.6.0' }),
}

function saysOf(files: Record<string, string>): string[] {
  return checkImportArrows(treeOf({ ...packages, ...files })).map(({ says }) => says)
}

test('the arrows of the architecture pass', () => {
  const says = saysOf({
    'packages/sandbox/src/a.ts':
      "import { x } from '@beige/protocol'\nimport { y } from './b.ts'\nimport 'node:fs'",
    'plugins/kv/src/index.ts': "export * from '@beige/plugin-sdk'",
    'packages/tui/src/index.ts': "await import('@earendil-works/pi-coding-agent')",
  })
  assert.deepEqual(says, [])
})

for (const [form, text] of Object.entries({
  'an import': "import { x } from '@beige/sandbox'",
  'a type import': "import type { X } from '@beige/sandbox'",
  'a re-export': "export * from '@beige/sandbox'",
  'a dynamic import': "const x = await import('@beige/sandbox')",
  'an import in a type': "export type X = import('@beige/sandbox').Exec",
})) {
  test(`${form} against the arrows is refused`, () => {
    const says = saysOf({ 'packages/protocol/src/a.ts': text })
    assert.match(says.join('\n'), /no arrow from packages\/protocol to packages\/sandbox/)
  })
}

test('a dependency against the arrows is refused, also one for development', () => {
  for (const field of ['dependencies', 'devDependencies']) {
    const protocol = manifest('@beige/protocol', {}, { [field]: { '@beige/sandbox': '0.1.0' } })
    const says = saysOf({ 'packages/protocol/package.json': protocol })
    assert.deepEqual(says, ['no arrow from packages/protocol to packages/sandbox'])
  }
})

test('a plugin imports the SDK alone', () => {
  assert.match(
    saysOf({ 'plugins/kv/src/a.ts': "import '@beige/protocol'" }).join(),
    /no arrow from plugins\/kv/,
  )
})

test('only a package index is importable, by its name', () => {
  const deep = saysOf({ 'packages/sandbox/src/a.ts': "import '@beige/protocol/src/ids.ts'" })
  const relative = saysOf({ 'packages/sandbox/src/a.ts': "import '../../protocol/src/ids.ts'" })
  const exported = saysOf({
    'packages/protocol/package.json': manifest('@beige/protocol', {}, { exports: { './ids': '' } }),
  })
  assert.match(deep.join(), /only the package's index/)
  assert.match(relative.join(), /leaves packages\/sandbox/)
  assert.match(exported.join(), /only src\/index.ts is importable/)
})

test('pi-coding-agent is for the terminal client alone; bench may install it to start it', () => {
  const text = "import '@earendil-works/pi-coding-agent'"
  assert.deepEqual(saysOf({ 'packages/tui/src/a.ts': text }), [])
  assert.match(saysOf({ 'bench/src/a.ts': text }).join(), /may be imported in packages\/tui alone/)
  const sandbox = manifest('@beige/sandbox', { '@earendil-works/pi-coding-agent': '1.6.0' })
  assert.match(saysOf({ 'packages/sandbox/package.json': sandbox }).join(), /may not be a dependency here/)
})

test('test-support is for tests', () => {
  const sandbox = manifest('@beige/sandbox', {}, { devDependencies: { '@beige/test-support': '0.1.0' } })
  const files = (path: string): Record<string, string> => ({
    'packages/sandbox/package.json': sandbox,
    [path]: "import '@beige/test-support'",
  })
  assert.deepEqual(saysOf(files('packages/sandbox/src/a.test.ts')), [])
  for (const path of [
    'test/bed.ts',
    'src/testing/bed.ts',
    'src/parts/testing/bed.ts',
    'src/bed.fixture.ts',
  ]) {
    assert.deepEqual(saysOf(files(`packages/sandbox/${path}`)), [])
  }
  assert.match(saysOf(files('packages/sandbox/src/a.ts')).join(), /only tests may import test-support/)
})

test('an import that the manifest does not name is refused, and so is a version that is not exact', () => {
  assert.deepEqual(saysOf({ 'packages/sandbox/src/a.ts': "import 'ws'" }), [
    'ws is not declared in packages/sandbox/package.json',
  ])
  const protocol = manifest('@beige/protocol', { ws: '^8.0.0' })
  assert.deepEqual(saysOf({ 'packages/protocol/package.json': protocol }), ['ws ^8.0.0: versions are exact'])
})

test('a new package has to be given its arrows', () => {
  assert.match(
    saysOf({ 'packages/extra/package.json': manifest('@beige/extra') }).join(),
    /no arrows are known/,
  )
})

test('what tests share is not imported by what they test', () => {
  const says = saysOf({
    'packages/sandbox/src/testing/bed.ts': '',
    'packages/sandbox/src/a.test.ts': "import './testing/bed.ts'",
    'packages/sandbox/src/a.ts': "import './testing/bed.ts'",
  })
  assert.deepEqual(says, ['./testing/bed.ts is for tests'])
})
