import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bytesOfText } from './byte-text.ts'
import { compileGlob } from './glob.ts'

const rows: [glob: string, matches: string[], others: string[]][] = [
  ['a?c', ['abc'], ['ac', 'a/c', 'abbc']],
  ['*.ts', ['.ts', 'a.ts'], ['a/b.ts', 'a.tsx']],
  ['**/*.ts', ['a.ts', 'a/b/c.ts'], ['a.js']],
  ['a/**', ['a/b', 'a/b/c'], ['a', 'b/a']],
  ['a/**/b', ['a/b', 'a/x/b', 'a/x/y/b'], ['ab', 'a/xb']],
  ['a**b', ['ab', 'axxb'], ['a/b']],
  ['**', ['', 'a', 'a/b'], []],
  ['[a-c]x', ['ax', 'cx'], ['dx']],
  ['[!a]x', ['bx'], ['ax']],
  ['[]]', [']'], ['a']],
  ['[a-]', ['a', '-'], ['b']],
  ['*.{js,ts}', ['a.js', 'b.ts'], ['a.{js,ts}', 'a.css']],
  ['{a,b/**}/c', ['a/c', 'b/x/c'], ['c', 'b/c/d']],
  ['\\*', ['*'], ['a']],
  ['日*', ['日本'], ['本']],
]
for (const [glob, matches, others] of rows) {
  test(`glob: ${glob}`, () => {
    const test = compileGlob(bytesOfText(glob))
    assert.ok(test)
    for (const name of matches) assert.equal(test(bytesOfText(name)), true, name)
    for (const name of others) assert.equal(test(bytesOfText(name)), false, name)
  })
}

test('glob: what is none', () => {
  for (const glob of ['[a', '{a', 'a}', 'a\\', '[z-a]', '[]']) {
    assert.equal(compileGlob(bytesOfText(glob)), null, glob)
  }
})

test('glob: one that is made to take long does not', () => {
  const slow = compileGlob(bytesOfText(`${'*a'.repeat(60)}*b`))
  assert.ok(slow)
  const began = process.cpuUsage().user
  assert.equal(slow(bytesOfText('a'.repeat(4000))), false)
  assert.ok(process.cpuUsage().user - began < 2_000_000)
  assert.equal(compileGlob(bytesOfText('?'.repeat(10_000))), null)
})
