import assert from 'node:assert/strict'
import { test } from 'node:test'
import { applyEdits, type Edit, type EditProblem } from './index.ts'

const edit = (oldText: string, newText: string, replaceAll = false): Edit => ({
  oldText,
  newText,
  replaceAll,
})

function edited(file: string, ...edits: Edit[]): string {
  const result = applyEdits(Buffer.from(file), edits)
  assert.ok(result.ok, result.ok ? '' : JSON.stringify(result.problem))
  return Buffer.from(result.bytes).toString()
}

function problem(file: string | Uint8Array, ...edits: Edit[]): EditProblem {
  const result = applyEdits(Buffer.from(file), edits)
  assert.ok(!result.ok)
  return result.problem
}

const rows: [what: string, file: string, edits: Edit[], after: string][] = [
  ['LF stays', 'a\nb\nc\n', [edit('b', 'B\nBB')], 'a\nB\nBB\nc\n'],
  [
    'CRLF stays',
    'a\r\nb\r\nc\r\n',
    [edit('a\nb', 'A\nX\nB')],
    'a\r\nb\r\nc\r\n'.replace('a\r\nb', 'A\r\nX\r\nB'),
  ],
  ['CRLF given as CRLF does not double', 'a\r\nb\r\n', [edit('a\r\nb', 'A\r\nB')], 'A\r\nB\r\n'],
  ['CRLF on both sides, LF file', 'a\nb\n', [edit('a\r\nb', 'A\r\nB')], 'A\nB\n'],
  ['CRLF only in the new text of an LF file is literal', 'a\nb\n', [edit('a', 'A\r\nX')], 'A\r\nX\nb\n'],
  ['mixed endings: the edited line takes the hunk’s', 'a\r\nb\nc\n', [edit('b', 'B\nBB')], 'a\r\nB\nBB\nc\n'],
  [
    'mixed endings: lines that stay keep theirs',
    'a\r\nb\nc\r\nd\n',
    [edit('a\nb\nc\nd', 'a\nB\nc\nd')],
    'a\r\nB\r\nc\r\nd\n',
  ],
  ['a newline at the start of the search', 'a\r\nb\r\n', [edit('\nb', '\nB')], 'a\r\nB\r\n'],
  ['BOM stays', '\ufeffa\nb', [edit('a', 'A')], '\ufeffA\nb'],
  ['no last newline stays', 'a\nb', [edit('b', 'c')], 'a\nc'],
  ['to nothing', 'a\nb\nc', [edit('b\n', '')], 'a\nc'],
  ['the whole file', 'a', [edit('a', '')], ''],
  ['several edits in any order', 'a b c', [edit('c', 'C'), edit('a', 'A')], 'A b C'],
  ['edits are located in the original', 'a b', [edit('a', 'b'), edit('b', 'a')], 'b a'],
  ['touching edits', 'ab', [edit('a', 'x'), edit('b', 'y')], 'xy'],
  ['no-break space', 'a\u00a0b\n', [edit('a b', 'c')], 'c\n'],
  ['dash and ellipsis', 'wait — now…\n', [edit('wait - now...', 'go')], 'go\n'],
  ['decomposed letters', 'cafe\u0301 au lait\n', [edit('caf\u00e9 au', 'thé au')], 'thé au lait\n'],
  [
    'trailing blanks of the file',
    'if x:  \n\ty \nz\n',
    [edit('if x:\n\ty\nz', 'if x:\n\tY\nz')],
    'if x:  \n\tY\nz\n',
  ],
  ['trailing blanks of the search', 'if x:\n\ty\n', [edit('if x: \n\ty ', 'if x: \n\tY ')], 'if x:\n\tY \n'],
  [
    'lines left alone keep their odd bytes',
    '“a”\r\nb\r\n“c”\r\n',
    [edit('"a"\nb\n"c"', '"a"\nB\n"c"')],
    '“a”\r\nB\r\n“c”\r\n',
  ],
  ['leading blanks count', '\tx\n  x\n', [edit('  x', '  y')], '\tx\n  y\n'],
]
for (const [what, file, edits, after] of rows)
  test(`edit: ${what}`, () => assert.equal(edited(file, ...edits), after))

test('edit: every look-alike is found by its plain form, and only those', () => {
  const alike: [plain: string, chars: string][] = [
    ["'", '\u2018\u2019\u201a\u201b'],
    ['"', '\u201c\u201d\u201e\u201f'],
    ['-', '\u2010\u2011\u2012\u2013\u2014\u2015\u2212'],
    [' ', '\u00a0\u1680\u180e\u2000\u2005\u200a\u202f\u205f\u3000'],
  ]
  for (const [plain, chars] of alike) {
    for (const char of chars) assert.equal(edited(`a${char}b`, edit(`a${plain}b`, 'x')), 'x', char)
  }
  for (const char of ['\u2020', '\u2016', '\u200b', '_']) {
    for (const [plain] of alike) assert.equal(problem(`a${char}b`, edit(`a${plain}b`, 'x')).code, 'no_match')
  }
})

test('edit: a file that begins with an empty line, lines of blanks alone', () => {
  assert.equal(edited('\na\n“b”\n', edit('"b"', 'x')), '\na\nx\n')
  assert.equal(edited('\n\r\n  \na —\n', edit('\n\na -', 'x')), '\nx\n')
  assert.equal(edited('a\n  \t\n“b”\n', edit('a\n\n"b"', 'x')), 'x\n')
})

test('edit: a line without an ending takes the ending of the one before', () => {
  assert.equal(edited('a\r\nb', edit('b', 'c\nd')), 'a\r\nc\r\nd')
  assert.equal(edited('b', edit('b', 'c\nd')), 'c\nd')
  assert.equal(edited('\nb', edit('b', 'c\nd')), '\nc\nd')
})

test('edit: places are named by the line they begin in', () => {
  const linesOf = (file: string, search: string) => {
    const found = problem(file, edit(search, 'new'))
    return found.code === 'not_unique' ? found.lines : found.code
  }
  assert.deepEqual(linesOf('\n\n\nx\nx\n', 'x'), [4, 5])
  assert.deepEqual(linesOf('\na\na', '\na'), [1, 2])
})

test('edit: a folded search that begins with a newline leaves the blanks before it', () => {
  assert.equal(edited('a  \n“b”\n', edit('\n"b"', '\nx')), 'a  \nx\n')
  assert.equal(edited('a—  \nb\n', edit('a-', 'x')), 'x  \nb\n')
})

test('edit: folded places that overlap are two', () => {
  const found = problem('“““\n', edit('""', 'x'))
  assert.deepEqual(found, { code: 'not_unique', edit: 0, count: 2, lines: [1, 1] })
})

test('edit: endings at the very beginning of a file', () => {
  assert.equal(edited('\r\na\r\n', edit('\na', '\nb')), '\r\nb\r\n')
  assert.equal(edited('\na', edit('\n', '\n\n')), '\n\na')
})

test('edit: a folded match never begins or ends inside a ligature', () => {
  assert.equal(problem('ﬁsh\n', edit('ish', 'x')).code, 'no_match')
  assert.equal(edited('a ﬁsh\n', edit('a fi', 'the fi')), 'the fish\n')
})

test('edit: trailing blanks of the search stand for the end of a line', () => {
  assert.equal(problem('a“b”c\n', edit('"b" ', 'x')).code, 'no_match')
  assert.equal(edited('a“b”\nc\n', edit('"b" ', 'x')), 'ax\nc\n')
})

test('edit: one failing edit of several changes nothing and is named', () => {
  assert.deepEqual(problem('a\nb\n', edit('a', 'A'), edit('zzz', 'y')), {
    code: 'no_match',
    edit: 1,
    nearest: null,
  })
})

test('edit: overlapping edits are refused', () => {
  assert.deepEqual(problem('x\nabc\n', edit('ab', '1'), edit('bc', '2')), {
    code: 'overlap',
    edit: 1,
    other: 0,
    line: 2,
  })
})

test('edit: empty search, equal texts, binary and UTF-16 files', () => {
  assert.equal(problem('a', edit('', 'b')).code, 'empty_search')
  assert.equal(problem('a', edit('a', 'a')).code, 'no_change')
  assert.equal(problem('a\r\n', edit('a\n', 'a\r\n')).code, 'no_change')
  assert.deepEqual(problem(Buffer.from([0x61, 0, 0x62]), edit('a', 'b')), {
    code: 'binary',
    what: 'a binary file',
  })
  const utf16 = Buffer.from('\ufeffa', 'utf16le')
  assert.deepEqual(problem(utf16, edit('a', 'b')), { code: 'binary', what: 'UTF-16 text' })
})

test('edit: UTF-16 is known by both bytes of its mark, in either order', () => {
  for (const start of [
    [0xff, 0xfe],
    [0xfe, 0xff],
  ]) {
    const found = problem(Buffer.from([...start, 0x4e, 0x2d]), edit('a', 'b'))
    assert.deepEqual(found, { code: 'binary', what: 'UTF-16 text' })
  }
  for (const start of [
    [0xff, 0xff],
    [0xfe, 0xfe],
    [0xff, 0x41],
    [0x41, 0xfe],
  ]) {
    assert.ok(applyEdits(Buffer.from([...start, 0x61]), [edit('a', 'b')]).ok)
  }
})

test('edit: bytes that are not UTF-8 survive, also in the edited line', () => {
  const result = applyEdits(Buffer.from([0xff, 0x61, 0xfe, 0x0a]), [edit('a', 'b')])
  assert.ok(result.ok)
  assert.deepEqual([...result.bytes], [0xff, 0x62, 0xfe, 0x0a])
})

test('edit: no match shows the nearest region and makes the difference visible', () => {
  const found = problem('one\nfunction f() {\n\treturn 1\n}\n', edit('function f() {\n    return 1\n}', 'x'))
  assert.ok(found.code === 'no_match')
  assert.deepEqual(found.nearest, {
    fromLine: 2,
    toLine: 4,
    excerpt: '2\tfunction f() {\n3\t\treturn 1\n4\t}',
    difference: { line: 3, column: 1, file: '"\\treturn 1"', wanted: '"    return 1"' },
  })
})

test('edit: a look-alike letter is named by its code point', () => {
  const found = problem('the n\u0430me is here\n', edit('the name is here', 'x'))
  assert.ok(found.code === 'no_match')
  assert.equal(found.nearest?.difference?.file, '"\u0430(U+0430)me is here"')
})

test('edit: a text at very many places is bounded', () => {
  const file = 'a'.repeat(300_000)
  assert.equal(problem(file, edit('a', 'b', true)).code, 'too_many')
})

test('edit: a large file with a folded match stays quick enough to be an edit', () => {
  const file = `${'\tconst value = compute(“x”)  \n'.repeat(100_000)}last — line\n`
  assert.ok(edited(file, edit('last - line', 'end')).endsWith('end\n'))
})
