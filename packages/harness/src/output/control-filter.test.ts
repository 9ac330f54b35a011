import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createControlFilter } from './control-filter.ts'

const rows: [what: string, text: string, after: string][] = [
  ['colours', '\x1b[1;31mred\x1b[0m', 'red'],
  ['cursor movement', 'a\x1b[2K\x1b[1Gb', 'ab'],
  ['a title, ended by BEL', '\x1b]0;title\x07x', 'x'],
  ['a link, ended by ST', '\x1b]8;;http://a\x1b\\text\x1b]8;;\x1b\\', 'text'],
  ['an unfinished title ends at the line’s end', '\x1b]0;never\nnext', '\nnext'],
  ['a device control string', '\x1bP1$r\x1b\\x', 'x'],
  ['a character set', '\x1b(Bx', 'x'],
  ['keypad mode', '\x1b=\x1b>x', 'x'],
  ['C0 and C1', 'a\x00\x07\x08b\x7f\x9b31mc', 'abc'],
  ['tab, newline, carriage return stay', 'a\tb\r\n', 'a\tb\r\n'],
  ['a broken sequence gives its text back', '\x1b[31\nx', '\nx'],
  ['text beyond ASCII', 'é\u00a0日𝒳', 'é\u00a0日𝒳'],
]
for (const [what, text, after] of rows) {
  test(`control filter: ${what}, whole and split anywhere`, () => {
    for (let at = 0; at <= text.length; at++) {
      const filter = createControlFilter()
      assert.equal(filter.push(text.slice(0, at)) + filter.push(text.slice(at)), after, `split at ${at}`)
    }
  })
}
