import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bytesOfText } from './byte-text.ts'
import { type IgnoreFile, type IgnoreLevel, isIgnored, parseIgnoreFile } from './ignore-rules.ts'

type Files = Partial<Record<IgnoreFile, string>>

/** The level of the last of some directories, outermost first; `.git` makes one a repository. */
function levelOf(...directories: { name?: string; files?: Files; hasGit?: boolean }[]): IgnoreLevel {
  let level: IgnoreLevel | null = null
  for (const { name = '', files = {}, hasGit = false } of directories) {
    const rules = Object.fromEntries(
      Object.entries(files).map(([file, text]) => [file, parseIgnoreFile(Buffer.from(text))]),
    )
    level = { rules, hasGit, above: level && { level, name: bytesOfText(name) } }
  }
  assert.ok(level)
  return level
}
const ignores = (level: IgnoreLevel, name: string) =>
  isIgnored(level, bytesOfText(name.replace(/\/$/, '')), name.endsWith('/'))

const rows: [rules: string, ignored: string[], kept: string[]][] = [
  ['*.log\n!keep.log', ['a.log'], ['keep.log', 'a']],
  ['build/', ['build/'], ['build']],
  ['/a', ['a', 'a/'], ['b']],
  ['# a\n\\#b\n\\!c', ['#b', '!c'], ['# a', 'a']],
  ['a  \nb\\ ', ['a', 'b '], ['a  ', 'b']],
  ['a\r\n', ['a'], ['a\r']],
  ['[a\nb', ['b'], ['[a', 'a']],
  ['a/**', [], ['a/', 'b']],
  ['*.{js,ts}', ['a.js', 'a.ts'], ['a.css']],
]
for (const [rules, ignored, kept] of rows) {
  test(`ignore rules: ${JSON.stringify(rules)}`, () => {
    const level = levelOf({ files: { '.gitignore': rules } })
    for (const name of ignored) assert.equal(ignores(level, name), true, name)
    for (const name of kept) assert.equal(ignores(level, name), false, name)
  })
}

test('ignore rules: anchored and with a slash, from below', () => {
  const level = levelOf({ files: { '.gitignore': '/sub/a\nsub/b\n/c\n' } }, { name: 'sub' })
  assert.deepEqual(
    ['a', 'b', 'c'].map(name => ignores(level, name)),
    [true, true, false],
  )
})

test('ignore rules: the deeper file wins, .ignore beats .gitignore, .rgignore both', () => {
  const outer = { files: { '.gitignore': 'a\nb\n', '.ignore': '!c\nd\n' } }
  const level = levelOf(outer, {
    name: 'sub',
    files: { '.gitignore': '!a\nc\n', '.rgignore': '!d\n' },
  })
  assert.deepEqual(
    ['a', 'b', 'c', 'd'].map(name => ignores(level, name)),
    [false, true, false, false],
  )
})

test('ignore rules: a repository does not heed the .gitignore above it, but the .ignore', () => {
  const outer = { files: { '.gitignore': 'a\n', '.ignore': 'b\n' } }
  const level = levelOf(outer, { name: 'repo', hasGit: true }, { name: 'sub' })
  assert.deepEqual([ignores(level, 'a'), ignores(level, 'b')], [false, true])
})

test('ignore rules: read up to the first line that is no text', () => {
  const rules = parseIgnoreFile(Buffer.from('a\n\xff\nb\n', 'latin1'))
  assert.equal(rules.length, 1)
})
