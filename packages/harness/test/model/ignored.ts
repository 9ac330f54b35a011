/**
 * What an ignore file leaves out, as the manual of gitignore has it (with braces, as ripgrep's has): tried by recursion,
 * slow and plain.
 */
import type { DirectoryNode } from './file-tree.ts'

const KINDS = ['.ignore', '.gitignore'] as const

/** `directories` lead from the root to the one that has `name`; `names` are theirs, without the root's. */
export function isIgnored(
  directories: readonly DirectoryNode[],
  names: readonly string[],
  name: string,
  isDirectory: boolean,
): boolean {
  for (const kind of KINDS) {
    for (let depth = directories.length - 1; depth >= 0; depth--) {
      const node = directories[depth]
      const path = [...names.slice(depth), name].join('/')
      const verdict = node ? lastVerdict(node, kind, path, isDirectory) : null
      if (verdict !== null) return verdict === 'out'
      // Another repository's rules end where this one begins.
      if (kind === '.gitignore' && node?.entries.has('.git')) break
    }
  }
  return false
}

function lastVerdict(
  node: DirectoryNode,
  file: string,
  path: string,
  isDirectory: boolean,
): 'in' | 'out' | null {
  const found = node.entries.get(file)
  if (found?.kind !== 'file' || (found.mode & 0o400) === 0) return null
  let verdict: 'in' | 'out' | null = null
  for (const line of found.bytes.toString('latin1').split('\n')) {
    let rule = line.replace(/\r$/, '')
    if (rule.startsWith('#')) continue
    if (!rule.endsWith('\\ ')) rule = rule.replace(/[ \t]+$/, '')
    const keeps = rule.startsWith('!')
    if (keeps) rule = rule.slice(1)
    else if (/^\\[#!]/.test(rule)) rule = rule.slice(1)
    const onlyDirectories = rule.endsWith('/')
    if (onlyDirectories) rule = rule.slice(0, -1)
    if (rule === '' || (onlyDirectories && !isDirectory)) continue
    const isAnchored = rule.includes('/')
    if (rule.startsWith('/')) rule = rule.slice(1)
    if (pathMatches(isAnchored ? rule : `**/${rule}`, path)) verdict = keeps ? 'in' : 'out'
  }
  return verdict
}

export function globMatches(glob: string, path: string): boolean {
  return alternatives(glob).some(each => matches(each, path))
}

function alternatives(glob: string): string[] {
  const found = /^(.*?)\{([^{}]*)\}(.*)$/s.exec(glob)
  if (!found) return [glob]
  const [, before = '', inside = '', after = ''] = found
  return inside.split(',').flatMap(part => alternatives(`${before}${part}${after}`))
}

function matches(glob: string, path: string): boolean {
  if (glob === '') return path === ''
  if (glob === '/**') return path.startsWith('/') && path.length > 1
  if (glob.startsWith('/**/')) {
    if (!path.startsWith('/')) return false
    return tails(path.slice(1)).some(tail => matches(glob.slice(4), tail))
  }
  const [char = ''] = glob
  if (char === '*') {
    for (let length = 0; length <= path.length; length++) {
      if (matches(glob.slice(1), path.slice(length))) return true
      if (path[length] === '/') return false
    }
    return false
  }
  const [first = ''] = path
  if (first === '') return false
  if (char === '?') return first !== '/' && matches(glob.slice(1), path.slice(1))
  if (char === '[') {
    const end = glob.indexOf(']', 2)
    const body = glob.slice(1, end)
    const isNegated = body.startsWith('!') || body.startsWith('^')
    const isIn = inClass(isNegated ? body.slice(1) : body, first)
    return isIn !== isNegated && matches(glob.slice(end + 1), path.slice(1))
  }
  const literal = char === '\\' ? glob.slice(1, 2) : char
  return first === literal && matches(glob.slice(char === '\\' ? 2 : 1), path.slice(1))
}

/** The path and what is left of it behind each `/`. */
function tails(path: string): string[] {
  const found = [path]
  for (let at = path.indexOf('/'); at >= 0; at = path.indexOf('/', at + 1)) found.push(path.slice(at + 1))
  return found
}

function inClass(body: string, char: string): boolean {
  for (let at = 0; at < body.length; at++) {
    const from = body[at] ?? ''
    const to = body[at + 1] === '-' ? body[at + 2] : undefined
    if (to !== undefined) at += 2
    if (char >= from && char <= (to ?? from)) return true
  }
  return false
}

/** `**` + `/` at the start: below any directory. */
export function pathMatches(glob: string, path: string): boolean {
  if (!glob.startsWith('**/')) return globMatches(glob, path)
  return tails(path).some(tail => pathMatches(glob.slice(3), tail))
}
