import assert from 'node:assert/strict'
import { test } from 'node:test'
import { posixPattern } from './posix-pattern.ts'

const equal: [pattern: string, posix: string][] = [
  ['foo', 'foo'],
  ['a.*?b+?c??', 'a.*b+c?'],
  ['\\bfoo\\b', '\\bfoo\\b'],
  ['\\d+\\s*\\w', '[0-9]+[[:space:]]*[_[:alnum:]]'],
  ['\\D\\S\\W', '[^0-9][^[:space:]][^_[:alnum:]]'],
  ['a\\.b\\*c\\\\d', 'a[.]b[*]c\\\\d'],
  ['(?:a|b)(?P<x>c)(?<y>d)', '(a|b)(c)(d)'],
  ['a{2}b{2,}c{2,3}', 'a{2}b{2,}c{2,3}'],
  ['a**', '(a*)*'],
  ['[abc]', '[abc]'],
  ['[^a-z_]', '[^a-z_]'],
  ['[\\]x]', '[]x]'],
  ['[]x]', '[]x]'],
  ['[a\\-z]', '[az-]'],
  ['[\\^]', '\\^'],
  ['[\\^-]', '[-^]'],
  ['[\\w.-]', '[_[:alnum:].-]'],
  ['[[:alpha:]\\d]', '[A-Za-z0-9]'],
  ['[\\[x]', '[x[]'],
  ['\\x41\\u{e9}\\t', 'Aé\t'],
  ['^a$|}', '^a$|}'],
  ['日本', '日本'],
]
for (const [pattern, posix] of equal) {
  test(`posix pattern: ${JSON.stringify(pattern)}`, () => {
    assert.deepEqual(posixPattern(pattern), { ok: true, pattern: posix, ignoreCase: false })
  })
}

test('posix pattern: (?i) at the start alone', () => {
  assert.deepEqual(posixPattern('(?i)a'), { ok: true, pattern: 'a', ignoreCase: true })
  assert.equal(posixPattern('a(?i)b').ok, false)
})

test('posix pattern: what has no equal is refused by name, what is wrong is told as wrong', () => {
  const rows: [pattern: string, isWrong: boolean, reason: RegExp][] = [
    ['(a', true, /unclosed group/],
    ['a)', true, /unopened group/],
    ['[a', true, /unclosed character class/],
    ['*a', true, /nothing to repeat before \*/],
    ['a {', true, /a literal \{ is \\\{/],
    ['a{3,2}', true, /counts down/],
    ['[z-a]', true, /goes down/],
    ['\\', true, /backslash/],
    ['a\\nb', true, /lines are searched one by one/],
    ['(?=a)', false, /^\(\?= has no equal/],
    ['(?<!a)', false, /has no equal/],
    ['\\p{L}', false, /^\\p has no equal/],
    ['\\1', false, /has no equal/],
    ['[a&&b]', false, /^&& has no equal/],
    ['[a[b]]', false, /a class in a class/],
    ['[\\W]', false, /\\W in a class/],
    ['^*', false, /behind an anchor/],
    ['a{1000}', false, /has no equal/],
    ['\\<a', false, /has no equal/],
    [`${'('.repeat(200)}${')'.repeat(200)}`, false, /nested/],
  ]
  for (const [pattern, isWrong, reason] of rows) {
    const found = posixPattern(pattern)
    assert.ok(!found.ok, pattern)
    assert.equal(found.isWrong, isWrong, pattern)
    assert.match(found.reason, reason)
  }
})
