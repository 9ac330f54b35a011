import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MAX_DIFF_BYTES, unifiedDiff } from './diff.ts'

const diff = (before: string, after: string) => unifiedDiff('f', Buffer.from(before), Buffer.from(after))

test('diff: hunks with three lines around them, counts, no newline at the end', () => {
  assert.deepEqual(diff('1\n2\n3\n4\n5\n6', '1\n2\n3\n4\n5\nsix\n'), {
    text: '--- f\n+++ f\n@@ -3,4 +3,4 @@\n 3\n 4\n 5\n-6\n\\ No newline at end of file\n+six\n',
    added: 1,
    removed: 1,
  })
})

test('diff: endings that differ are a change', () => {
  assert.equal(diff('a\r\nb\n', 'a\nb\n')?.text, '--- f\n+++ f\n@@ -1,2 +1,2 @@\n-a\r\n+a\n b\n')
})

test('diff: two files with hardly anything in common have none, a large one is cut', () => {
  const lines = (count: number, word: string) =>
    Array.from({ length: count }, (_, index) => `${word} ${index}\n`).join('')
  assert.equal(diff(lines(10_000, 'a'), lines(10_000, 'b')), null)
  const cut = diff(`${'x'.repeat(300_000)}\n`, `${'y'.repeat(300_000)}\n`)
  assert.ok(cut && Buffer.byteLength(cut.text) < MAX_DIFF_BYTES + 100)
  assert.match(cut.text, /\[diff cut at 256\.0KB\]\n$/)
})
