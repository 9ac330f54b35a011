import assert from 'node:assert/strict'
import test from 'node:test'
import { checkBannedNames } from './banned-names.ts'
import { treeOf } from './tree.ts'

const refused = (path: string, text = ''): boolean => checkBannedNames(treeOf({ [path]: text })).length > 0

test('names that say nothing are refused, as a file, a folder or a part of a name', () => {
  for (const path of [
    'packages/host/src/utils.ts',
    'packages/host/src/helpers/clock.ts',
    'packages/host/src/string-utils.ts',
    'packages/host/src/common.test.ts',
    'packages/execd/src/misc.rs',
    'packages/host/src/types.ts',
  ]) {
    assert.ok(refused(path), path)
  }
})

test('names are kebab-case; a hazard test begins with its id', () => {
  for (const path of ['packages/host/src/ToolPipeline.ts', 'packages/host/src/tool_pipeline.ts'])
    assert.ok(refused(path))
  for (const path of [
    'packages/host/src/tool-pipeline.ts',
    'packages/host/src/H07-prompt-durable-before-ack.engine.test.ts',
    'packages/execd/src/tool_client.rs',
    'packages/host/src/shared.d.ts',
  ]) {
    assert.ok(!refused(path), path)
  }
})

test('a default export is refused', () => {
  assert.ok(refused('packages/host/src/a.ts', 'export default function run() {}'))
  assert.ok(!refused('packages/host/src/a.ts', 'export function run() {}'))
})
