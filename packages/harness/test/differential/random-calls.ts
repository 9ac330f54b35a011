/** Calls of the file tools on a tree, from a seed, with what the model needs to know of them. */
import { type DirectoryNode, mayChange, mayEnter, mayRead, type TreeNode } from '../model/file-tree.ts'
import type { ModelCall } from '../model/tools.ts'
import type { Random } from './random-tree.ts'

/** With what a line is compared in the model; a byte that is of no character is a `\n` there. */
const PATTERNS: readonly [pattern: string, equal: string][] = [
  ['foo', 'foo'],
  ['^foo', '^foo'],
  ['foo$', 'foo$'],
  ['f.o', 'f[^\\n]o'],
  ['fo+\\b', 'fo+(?![\\p{L}\\p{N}_])'],
  ['\\bbar', '(?<![\\p{L}\\p{N}_])bar'],
  ['(foo|bar) (?:foo|bar)', '(foo|bar) (foo|bar)'],
  ['x[.z]y', 'x[.z]y'],
  ['[0-9]+ f', '[0-9]+ f'],
  ['\\d\\d', '\\d\\d'],
  ['^\\s+foo', '^[ \\t\\r]+foo'],
  ['\\(foo\\)', '\\(foo\\)'],
  ['[\\[(]foo', '[\\[(]foo'],
  ['日.', '日[^\\n]'],
  ['[éx]', '[éx]'],
  ['^$', '^$'],
  ['^.{3,4}$', '^[^\\n]{3,4}$'],
  ['\\w+_\\d', '[\\p{L}\\p{N}_]+_\\d'],
  ['row 1.*?9', 'row 1[^\\n]*9'],
  ['-n', '-n'],
  ['a\\\\b', 'a\\\\b'],
  ['\\$HOME', '\\$HOME'],
  ['o\\x{1b}|\\x1b', '\\x1b'],
  ['', ''],
]
const LITERALS = ['foo', 'x.y', '(foo)', '[foo]', '--', '$HOME', 'a\\b', '日本', '*', 'é']
const GLOBS = [
  '*.ts',
  '*.log',
  'a*',
  '*',
  '**',
  'src/**',
  'a/b',
  '*.{ts,log}',
  '?',
  '[ab]*',
  '/a',
  '.*',
  '日*',
  'A.TS',
  'a.ts',
  '**/b',
  '/src/*.ts',
]
const WORDS = ['foo', 'bar', 'o', ' ', 'row 1', 'nothing like it', '', 'x.y', 'FOO']
const CONTENTS = ['', 'foo\n', 'one\ntwo', '日本\r\n', 'x'.repeat(300)]

type Known = { path: string; node: TreeNode; isPlain: boolean }

export function randomCall(random: Random, root: DirectoryNode): ModelCall {
  const known = nodesOf(root)
  const path = () => randomPath(random, known)
  const limit = () => (random.chance(0.3) ? { limit: 1 + random.below(4) } : {})
  switch (
    random.pick([
      'read',
      'read',
      'write',
      'edit',
      'ls',
      'ls',
      'find',
      'find',
      'grep',
      'grep',
      'grep',
      'bash',
    ] as const)
  ) {
    case 'read':
      return {
        tool: 'read',
        input: { path: path(), ...limit(), ...(random.chance(0.3) ? { offset: 1 + random.below(6) } : {}) },
      }
    case 'write':
      return { tool: 'write', input: { path: path(), content: random.pick(CONTENTS) } }
    case 'edit': {
      const words = { old_string: random.pick(WORDS), new_string: random.pick(WORDS) }
      return {
        tool: 'edit',
        input: { path: path(), ...words, ...(random.chance(0.5) ? { replace_all: true } : {}) },
      }
    }
    case 'ls':
      return {
        tool: 'ls',
        input: { ...where(random, path), ...limit(), ...(random.chance(0.5) ? { all: true } : {}) },
      }
    case 'find':
      return { tool: 'find', input: { ...where(random, path), ...limit(), pattern: random.pick(GLOBS) } }
    case 'grep':
      return grepCall(random, where(random, path), limit())
    case 'bash':
      return bashCall(random, known)
  }
}

const where = (random: Random, path: () => string) => (random.chance(0.5) ? {} : { path: path() })

function grepCall(random: Random, at: { path?: string }, limit: { limit?: number }): ModelCall {
  const literal = random.chance(0.3)
  const [pattern, equal] = literal ? [random.pick(LITERALS), ''] : random.pick(PATTERNS)
  const source = literal ? pattern.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&').replace(/\\-/g, '-') : equal
  const ignoreCase = random.chance(0.25)
  const context = random.chance(0.3) ? { [random.pick(['context', 'before', 'after'])]: random.below(4) } : {}
  return {
    tool: 'grep',
    input: {
      ...{ pattern, ...at, ...limit, ...context },
      ...(literal ? { literal } : {}),
      ...(ignoreCase ? { ignore_case: true } : {}),
      ...(random.chance(0.3) ? { glob: random.pick(GLOBS) } : {}),
    },
    test: new RegExp(source, ignoreCase ? 'iu' : 'u'),
  }
}

function bashCall(random: Random, known: readonly Known[]): ModelCall {
  const files = known.filter(
    ({ node, isPlain }) => node.kind === 'file' && isPlain && mayRead(node) && (node.mode & 0o200) !== 0,
  )
  const dice = random.below(4)
  if (dice === 0 || files.length === 0)
    return { tool: 'bash', input: { command: 'pwd' }, says: { code: null, text: '<root>' } }
  const { path, node } = random.pick(files)
  const quoted = `'${path.replaceAll("'", "'\\''")}'`
  const size = node.kind === 'file' ? node.bytes.length : 0
  if (dice === 1) {
    return {
      tool: 'bash',
      input: { command: `cat ./${quoted} | wc -c` },
      says: { code: null, text: `${size}` },
    }
  }
  if (dice === 2) {
    const says = { code: null, text: `${size}\n[exit code 3]` }
    return { tool: 'bash', input: { command: `cat ./${quoted} | wc -c; exit 3` }, says }
  }
  return {
    tool: 'bash',
    input: { command: `printf '%s\\n' 'foo added' >> ./${quoted}` },
    says: { code: null, text: '(no output)' },
    appends: { path, bytes: Buffer.from('foo added\n') },
  }
}

/** Of what can be named in a call: `isPlain` means that no link and no shut directory is on the way. */
function nodesOf(root: DirectoryNode): Known[] {
  const found: Known[] = [{ path: '.', node: root, isPlain: true }]
  const visit = (folder: DirectoryNode, prefix: string, isPlain: boolean) => {
    for (const [name, node] of folder.entries) {
      const text = Buffer.from(name, 'latin1').toString()
      if (Buffer.from(text).toString('latin1') !== name) continue
      const path = prefix === '' ? text : `${prefix}/${text}`
      found.push({ path, node, isPlain })
      if (node.kind === 'directory') visit(node, path, isPlain && mayEnter(node) && mayChange(node))
    }
  }
  visit(root, '', true)
  return found
}

function randomPath(random: Random, known: readonly Known[]): string {
  const { path: name, node } = random.pick(known)
  const path = name.startsWith('~') ? `./${name}` : name // not the home
  const dice = random.below(20)
  if (dice === 0) return `@${path}`
  if (dice === 1) return `${path}x`
  if (dice === 2) return `${path}/below`
  if (dice === 3 && path !== '.') return `${path}/../${random.pick(known).path}`
  if (dice === 4) return `new/${random.below(3)}/file`
  if (node.kind === 'symlink' && dice < 14) return `${path}/${random.pick(['a', 'b', 'x.ts', 'new'])}`
  return path
}
