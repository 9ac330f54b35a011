import assert from 'node:assert/strict'
import { test } from 'node:test'
import { columns, oneLine, padded, visible } from './visible.ts'

test('control bytes, escape sequences and direction marks are shown, tab and line end stay', () => {
  for (let code = 0; code < 0xa0; code++) {
    const char = String.fromCharCode(code)
    const isPlain = char === '\t' || char === '\n' || (code >= 0x20 && code < 0x7f)
    assert.equal(visible(char), isPlain ? char : `\\u${code.toString(16).padStart(4, '0')}`)
  }
  assert.equal(visible('\x1b]0;owned\x07'), '\\u001b]0;owned\\u0007')
  assert.equal(visible('a\u202eb\u2066c'), 'a\\u202eb\\u2066c')
  assert.equal(visible('one\r\ntwo'), 'one\ntwo')
  assert.equal(visible('grüße 漢字 👩‍🔬'), 'grüße 漢字 👩‍🔬')
})

test('a line is cut by what it takes on the terminal, never inside a character', () => {
  assert.equal(oneLine('short', 10), 'short')
  assert.equal(oneLine('a long line of text', 10), 'a long li…')
  assert.equal(oneLine('漢字漢字漢字', 7), '漢字漢…')
  assert.ok(columns(oneLine('👍'.repeat(30), 11)) <= 11)
  assert.equal(oneLine('one\n\n  two\tthree', 40), 'one ⏎ two three')
  assert.equal(oneLine('\x1b[2J', 40), '\\u001b[2J')
  assert.ok(oneLine('x'.repeat(50_000_000), 40).length <= 40, 'at any length')
})

test('columns of wide and combining characters', () => {
  assert.equal(columns('abc'), 3)
  assert.equal(columns('漢字'), 4)
  assert.equal(columns('e\u0301'), 1)
  assert.equal(padded('漢', 4), '漢  ')
})
