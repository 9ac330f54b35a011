import assert from 'node:assert/strict'
import { test } from 'node:test'
import { applyEdits } from '../edit-engine/index.ts'
import { newLinesOf } from './new-lines.ts'

function shown(file: string, ...edits: [oldText: string, newText: string][]): string {
  const result = applyEdits(
    Buffer.from(file),
    edits.map(([oldText, newText]) => ({ oldText, newText, replaceAll: true })),
  )
  assert.ok(result.ok)
  return newLinesOf(result.bytes, result.hunks)
}

const rows: [what: string, file: string, edits: [string, string][], shown: string][] = [
  ['a part of a line', 'a\nbcd\ne\n', [['c', 'X']], '     2\tbXd'],
  ['several lines', 'a\nb\n', [['a', '1\n2']], '     1\t1\n     2\t2'],
  [
    'two edits of one line show it once',
    'abc\n',
    [
      ['a', 'A'],
      ['c', 'C'],
    ],
    '     1\tAbC',
  ],
  [
    'neighbours have no gap, others do',
    'x\nx\ny\nx\n',
    [['x', 'z']],
    '     1\tz\n     2\tz\n   …\n     4\tz',
  ],
  ['a removed line shows the one in its place', 'a\nb\nc\n', [['b\n', '']], '     2\tc'],
  ['the end removed', 'a\nb\n', [['\nb\n', '']], '     1\ta'],
  ['everything removed', 'a', [['a', '']], '     1\t'],
  ['CRLF is not shown', 'a\r\nb\r\n', [['a', 'c']], '     1\tc'],
]
for (const [what, file, edits, expected] of rows) {
  test(`new lines: ${what}`, () => assert.equal(shown(file, ...edits), expected))
}

test('new lines: at most 4 KiB, long lines cut', () => {
  const text = shown('a\n', ['a', Array.from({ length: 500 }, (_, index) => `line ${index}`).join('\n')])
  assert.ok(Buffer.byteLength(text) <= 4096 + 20)
  assert.match(text, /\[… more new lines\]$/)
  assert.ok(shown('a\n', ['a', 'é'.repeat(10_000)]).length < 500)
})
