/** Trees that are hard on file tools, from a seed. */
import { type DirectoryNode, directory, latin1, type TreeNode } from '../model/file-tree.ts'

export type Random = {
  below(count: number): number
  chance(part: number): boolean
  pick<T>(list: readonly T[]): T
}

/** mulberry32 */
export function createRandom(seed: number): Random {
  let state = seed | 0
  const next = () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (count: number) => Math.floor(next() * count)
  return {
    below,
    chance: part => next() < part,
    pick: list => {
      const found = list[below(list.length)]
      if (found === undefined) throw new Error('an empty list')
      return found
    },
  }
}

const NAMES = [
  ...[
    'a',
    'b',
    'src',
    'build',
    'x.ts',
    'A.TS',
    'y.log',
    'z.log',
    'a-b',
    'a.b',
    '.hidden',
    '.dir',
    'node_modules',
  ],
  ...[
    'a b',
    ' ',
    'new\nline',
    'tail\n',
    '日本',
    'é',
    'ünï.ts',
    "it's",
    '$(touch x)',
    '`id`',
    '-n',
    '--',
    '*',
    '[z]',
  ],
  ...['{q}', 'back\\slash', '"', '#c', '!b', 'tab\there', '~', '\u{1f600}'],
].map(latin1)
const BAD_NAMES = ['\xffa', 'b\xc3', '\xe6\x97', '\xfe\n\xfd'] // not UTF-8
const DOWNWARDS = ['.', 'a/b', 'src/x.ts', 'no/where', './b', '\xff']
const UPWARDS = ['..', '../a', '../src/b']
const RULES = [
  ...[
    '*.log',
    '!y.log',
    'build/',
    '/src',
    'src/',
    'a*',
    '!a',
    '**/b',
    'src/**',
    'src/*.ts',
    '[ab]',
    '[!a-x]*',
    '*.{ts,log}',
  ],
  ...[
    '# c',
    '\\#c',
    '\\!b',
    '',
    '日本',
    'é*',
    '?',
    '.*',
    '!.hidden',
    '*',
    '!*/',
    '/a/**/b',
    'a b',
    '*.TS',
    '~',
    '{a,b}/x.ts',
  ],
]
const LINES = [
  ...[
    'foo',
    'foo bar',
    'bar foo',
    'FOO',
    'foobar',
    '',
    ' ',
    '\tfoo',
    'x.y',
    'xzy',
    '日本 foo',
    'é',
    'É',
    'naïve foo_1',
  ],
  ...['(foo)', '[foo]', '-n', '--', '12 foo', 'a\\b', '$HOME', '\x1b[31mfoo', 'foo\x07', 'fo\u0000o'],
].map(latin1)
// None ends a word with such a byte: there `\b` of POSIX grep and of ripgrep are not the same (docs/decisions).
const BAD_LINES = ['caf\xe9 foo', '\xff\xfe foo', 'foo \xc3', '\xe6\x97foo', '\xf0\x9f\x98']

/** Where rules take files back in, no directory has a line break in its name: some versions of ripgrep do not see it. */
type Shape = { rules: readonly string[]; hasBreaks: boolean }

export function randomTree(random: Random): DirectoryNode {
  const root = directory()
  const hasBreaks = random.chance(0.5)
  const rules = hasBreaks ? RULES.filter(rule => !rule.startsWith('!')) : RULES
  fill(root, random, 0, { rules, hasBreaks })
  return root
}

function fill(folder: DirectoryNode, random: Random, depth: number, shape: Shape): void {
  const count = depth === 0 ? 3 + random.below(6) : random.below(6)
  for (let index = 0; index < count; index++) {
    const name = random.chance(0.06) ? random.pick(BAD_NAMES) : random.pick(NAMES)
    const node = randomNode(random, depth, shape)
    if (node.kind === 'directory' && name.includes('\n') && !shape.hasBreaks) continue
    folder.entries.set(name, node)
  }
  for (const file of ['.gitignore', '.ignore']) {
    if (!random.chance(file === '.gitignore' ? 0.4 : 0.15)) continue
    const rules = Array.from({ length: 1 + random.below(4) }, () => random.pick(shape.rules))
    folder.entries.set(file, textFile(`${rules.map(latin1).join(random.chance(0.2) ? '\r\n' : '\n')}\n`))
  }
  if (random.chance(0.1)) {
    const git = directory()
    git.entries.set('config', textFile('foo\n'))
    folder.entries.set('.git', git)
  }
}

function randomNode(random: Random, depth: number, shape: Shape): TreeNode {
  const dice = random.below(100)
  if (dice < 30 && depth < 3) {
    const folder = directory()
    fill(folder, random, depth + 1, shape)
    const mode = random.below(20)
    if (mode === 0) folder.mode = 0
    else if (mode === 1) folder.mode = 0o555
    return folder
  }
  if (dice < 42) {
    const upwards = depth > 0 ? UPWARDS : [] // nothing leads out of the tree
    const target = random.pick([...NAMES.slice(0, 12), ...DOWNWARDS, ...upwards])
    return { kind: 'symlink', target }
  }
  if (dice < 45) return { kind: 'fifo' }
  const file = textFile(randomContent(random))
  const mode = random.below(16)
  if (mode === 0) file.mode = 0
  else if (mode === 1) file.mode = 0o444
  else if (mode === 2) file.mode = 0o755
  return file
}

const textFile = (content: string) =>
  ({
    kind: 'file',
    bytes: Buffer.from(content, 'latin1'),
    mode: 0o644,
    version: 0,
  }) as const satisfies TreeNode as TreeNode & {
    kind: 'file'
  }

function randomContent(random: Random): string {
  const dice = random.below(40)
  if (dice === 0) return ''
  if (dice === 1) return Buffer.from('\ufefffoo\nbar é\n', 'utf16le').toString('latin1')
  if (dice === 2) return latin1(`${'é'.repeat(600)}foo\n${'x'.repeat(5000)}foo\nfoo${'日'.repeat(1500)}`)
  if (dice === 3) return Array.from({ length: 2500 }, (_, index) => `row ${index} foo\n`).join('')
  if (dice === 4) return latin1('\ufefffoo\nbar')
  const ending = random.chance(0.2) ? '\r\n' : '\n'
  const lines = Array.from({ length: 1 + random.below(12) }, () =>
    random.chance(0.08) ? random.pick(BAD_LINES) : random.pick(LINES),
  )
  return lines.join(ending) + (random.chance(0.7) ? ending : '')
}
