import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createFlow, flowed } from './flow.ts'
import { columns } from './visible.ts'

function written(parts: readonly string[], width: number): string {
  let out = ''
  const flow = createFlow({ write: text => (out += text), width: () => width, indent: 2, lead: '* ' })
  for (const part of parts) flow.push(part)
  flow.end()
  return out
}

test('lines break between words, wherever the pieces were cut', () => {
  const text = 'The expiry was compared in seconds against milliseconds.'
  const expected = '* The expiry was\n  compared in\n  seconds against\n  milliseconds.\n'
  assert.equal(written([text], 18), expected)
  assert.equal(written([...text], 18), expected)
  for (let cut = 1; cut < text.length; cut++)
    assert.equal(written([text.slice(0, cut), text.slice(cut)], 18), expected)
})

test('line ends and spaces of the text are kept inside, not around it', () => {
  assert.equal(written(['\n\nlist:\n', '  - a\n\n', '  - b\n\n'], 40), '* list:\n    - a\n\n    - b\n')
  assert.equal(written(['\n \n'], 40), '')
  assert.equal(written(['a\tb'], 40), '* a    b\n')
})

test('a word that is wider than the terminal is not lost', () => {
  assert.equal(
    written(['see https://example.com/a/very/long/path now'], 12),
    '* see\n  https://example.com/a/very/long/path\n  now\n',
  )
})

test('no line is wider than the terminal where its words allow it', () => {
  const text = 'ein 漢字 wort und noch 👍 ein paar Wörter '.repeat(5)
  for (const width of [12, 20, 40, 80])
    for (const line of flowed(text, width).split('\n')) assert.ok(columns(line) <= width, `${width}: ${line}`)
})
