import assert from 'node:assert/strict'
import test from 'node:test'
import { checkBannedText } from './banned-text.ts'
import { treeOf } from './tree.ts'

const countIn = (text: string): number => checkBannedText(treeOf({ 'packages/host/src/a.ts': text })).length

test('reminders without an issue, hidden type errors and paths of one machine are refused', () => {
  for (const text of [
    `// ${'TO'}DO later`,
    `// ${'FIX'}ME`,
    `// @ts-${'ignore'}`,
    `const a = '/${'home'}/ada/x'`,
    `const a = '/${'work'}/main'`,
  ]) {
    assert.equal(countIn(text), 1, text)
  }
})

test('a reminder with its issue passes, and so does the agent workspace', () => {
  assert.equal(countIn(`// ${'TO'}DO(#12) later\nconst a = '/workspace/x'`), 0)
})
