/** The model of `ls`, `find` and `grep`. */
import {
  type DirectoryNode,
  latin1,
  mayEnter,
  mayRead,
  type Resolved,
  resolve,
  type TreeNode,
  text,
} from './file-tree.ts'
import { isIgnored, pathMatches } from './ignored.ts'
import { fitting, linesOf, pictures, searchable, shownName, withoutReturn } from './lines.ts'
import type { Answer } from './tools.ts'

export type GrepInput = {
  pattern: string
  path?: string
  glob?: string
  ignore_case?: boolean
  literal?: boolean
  context?: number
  before?: number
  after?: number
  limit?: number
}

export function ls(root: DirectoryNode, at: string, input: { all?: boolean; limit?: number }): Answer {
  const found = resolve(root, at)
  const failed = notADirectory(found)
  if (failed) return failed
  if (!found.ok || found.node.kind !== 'directory') return { code: 'wrong_kind' }
  if (!mayRead(found.node) || !mayEnter(found.node)) return { code: 'permission' }
  const names = [...found.node.entries.keys()].sort()
  const shown = names.filter(name => input.all || !name.startsWith('.'))
  const isDirectory = (name: string) =>
    found.node.kind === 'directory' && found.node.entries.get(name)?.kind === 'directory'
  const sorted = [...shown.filter(isDirectory), ...shown.filter(name => !isDirectory(name))]
  const line = (name: string) => {
    const node = found.node.kind === 'directory' ? found.node.entries.get(name) : undefined
    const link = node?.kind === 'symlink' ? ` -> ${shownName(node.target)}` : ''
    return `${shownName(name)}${node?.kind === 'directory' ? '/' : link}`
  }
  const lines = fitting(sorted.slice(0, input.limit ?? 500).map(line), 1998)
  if (names.length === 0) return { code: null, text: '[empty directory]' }
  if (shown.length === 0) {
    return { code: null, text: `[only names with a dot: ${names.length}; all shows them]` }
  }
  const cut = lines.length < shown.length ? [`[${lines.length} of ${shown.length}]`] : []
  return { code: null, text: [...lines, ...cut].join('\n') }
}

export function find(root: DirectoryNode, at: string, input: { pattern: string; limit?: number }): Answer {
  const found = resolve(root, at)
  const failed = notADirectory(found)
  if (failed) return failed
  if (!found.ok || found.node.kind !== 'directory') return { code: 'wrong_kind' }
  if (!mayEnter(found.node)) return { code: 'permission' }
  const { entries, shut } = below(root, found.real)
  const { pattern, limit = 1000 } = input
  const fold = pattern === pattern.toLowerCase() ? lower : (name: string) => name
  const matched = entries.filter(({ path }) => globApplies(latin1(pattern), fold(path)))
  const lines = fitting(
    matched
      .slice(0, limit)
      .map(({ path, node }) => `${shownName(path)}${node.kind === 'directory' ? '/' : ''}`),
    1998,
  )
  const more = more_(lines.length, matched.length, lines.length < limit)
  const all = matched.length === 0 ? ['no matches'] : [...lines, ...more]
  return { code: null, text: [...all, ...shutNote(shut, 'listed')].join('\n') }
}

export function grep(root: DirectoryNode, at: string, input: GrepInput, test: RegExp): Answer {
  const found = resolve(root, at)
  if (!found.ok) return failureOf(found)
  const { node } = found
  if (node.kind === 'fifo' || node.kind === 'symlink') return { code: 'wrong_kind' }
  if (node.kind === 'file' && !mayRead(node)) return { code: 'permission' }
  if (node.kind === 'directory' && !mayEnter(node)) return { code: 'permission' }
  const own = { path: at.split('/').at(-1) ?? '', node }
  const tree = node.kind === 'directory' ? below(root, found.real) : { entries: [own], shut: [] }
  const { glob } = input
  const wanted = tree.entries.filter(
    entry =>
      entry.node.kind === 'file' &&
      (node.kind === 'file' || glob === undefined || globApplies(latin1(glob), entry.path)),
  )
  const before = input.before ?? input.context ?? 0
  const after = input.after ?? input.context ?? 0
  const shut = [...tree.shut]
  const limit = input.limit ?? 100
  const shown: string[] = []
  let matches = 0
  for (const { path, node: file } of wanted) {
    if (file.kind !== 'file') continue
    if (!mayRead(file)) {
      shut.push(path)
      continue
    }
    const lines = linesOf(file.bytes)
    const hits = lines.flatMap((line, index) => (test.test(searchable(line)) ? [index] : []))
    const taken = hits.slice(0, Math.max(0, limit - matches))
    matches += hits.length
    let last = -1
    const nextHit = hits[taken.length] ?? Number.POSITIVE_INFINITY
    for (const hit of taken) {
      for (
        let index = Math.max(last + 1, hit - before);
        index <= Math.min(lines.length - 1, hit + after);
        index++
      ) {
        const line = lines[index]
        if (line === undefined || index <= last || index >= nextHit) continue
        if (hits.includes(index) && !taken.includes(index)) continue
        const isNext = last >= 0 && index === last + 1
        if (before + after > 0 && shown.length > 0 && !isNext) shown.push('--')
        const sign = hits.includes(index) ? ':' : '-'
        shown.push(`${shownName(path)}${sign}${index + 1}${sign} ${shownLine(line)}`)
        last = index
      }
    }
  }
  const notes = shutNote(shut, 'searched')
  if (matches === 0) return { code: null, text: ['no matches', ...notes].join('\n') }
  const fit = fitting(shown, 1998)
  const isFull = fit.length < shown.length
  const shownMatches = isFull ? fit.filter(line => /:\d+: /.test(line)).length : Math.min(limit, matches)
  return { code: null, text: [...fit, ...more_(shownMatches, matches, isFull), ...notes].join('\n') }
}

function shownLine(line: Buffer): string {
  const chars = Array.from(withoutReturn(line).toString())
  return `${pictures(chars.slice(0, 500).join(''))}${chars.length > 500 ? '…' : ''}`
}

function more_(shown: number, all: number, isFull: boolean): string[] {
  if (shown === all) return []
  const advice = isFull ? 'narrow the pattern or the path' : 'narrow the pattern or raise limit'
  const number = (count: number) => count.toLocaleString('en-US')
  return [
    `[${number(shown)} ${shown === 1 ? 'match' : 'matches'} shown, at least ${number(all - shown)} more: ${advice}]`,
  ]
}

function shutNote(paths: readonly string[], what: string): string[] {
  const [first, ...rest] = paths.map(path => latin1(text(path))).sort(byParts)
  if (first === undefined) return []
  const more = rest.length > 0 ? `, and ${rest.length} more` : ''
  return [`[not ${what}, permission denied: ${shownName(first) || '.'}${more}]`]
}

function globApplies(glob: string, path: string): boolean {
  if (glob.startsWith('/')) return pathMatches(glob.slice(1), path)
  return glob.includes('/')
    ? pathMatches(`**/${glob}`, path)
    : pathMatches(glob, path.split('/').at(-1) ?? '')
}

const lower = (path: string) => path.split('/').map(lowerName).join('/')

function lowerName(name: string): string {
  const decoded = Buffer.from(name, 'latin1').toString()
  return latin1(decoded) === name ? latin1(decoded.toLowerCase()) : name
}

const byParts = (a: string, b: string) => {
  const [first, second] = [a.split('/'), b.split('/')]
  for (let at = 0; at < Math.min(first.length, second.length); at++) {
    const [left = '', right = ''] = [first[at], second[at]]
    if (left !== right) return left < right ? -1 : 1
  }
  return first.length - second.length
}

/** All that is not ignored below a directory, in order, and the directories that may not be looked into. */
function below(root: DirectoryNode, real: readonly string[]) {
  const entries: { path: string; node: TreeNode }[] = []
  const shut: string[] = []
  const chain: DirectoryNode[] = [root]
  for (const name of real) {
    const next = chain.at(-1)?.entries.get(name)
    if (next?.kind === 'directory') chain.push(next)
  }
  const visit = (directories: readonly DirectoryNode[], names: readonly string[], prefix: string) => {
    const node = directories.at(-1)
    if (!node) return
    if (!mayRead(node) || !mayEnter(node)) return void shut.push(prefix)
    for (const [name, entry] of [...node.entries].sort((a, b) => (a[0] < b[0] ? -1 : 1))) {
      if (name === '.git' || isIgnored(directories, names, name, entry.kind === 'directory')) continue
      const path = prefix === '' ? name : `${prefix}/${name}`
      entries.push({ path, node: entry })
      if (entry.kind === 'directory') visit([...directories, entry], [...names, name], path)
    }
  }
  visit(chain, real, '')
  return { entries, shut }
}

function notADirectory(found: Resolved): Answer | null {
  if (!found.ok) return failureOf(found)
  return found.node.kind === 'directory' ? null : { code: 'wrong_kind' }
}

export function failureOf(found: Resolved & { ok: false }): Answer {
  switch (found.failure) {
    case 'ENOENT':
    case 'ENOTDIR':
      return { code: 'not_found' }
    case 'EACCES':
      return { code: 'permission' }
    case 'ELOOP':
      return { code: 'invalid_input' }
  }
}
