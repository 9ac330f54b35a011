/** A tree of files in memory: what a kernel would say of a path, to whoever owns all of it. Names are latin1, one char a byte. */

export type FileNode = { kind: 'file'; bytes: Buffer; mode: number; version: number }
export type DirectoryNode = { kind: 'directory'; entries: Map<string, TreeNode>; mode: number }
export type TreeNode = FileNode | DirectoryNode | { kind: 'symlink'; target: string } | { kind: 'fifo' }

export type Failure = 'ENOENT' | 'ENOTDIR' | 'EACCES' | 'ELOOP'
/** `real` are the names from the root to what is there, or would be. */
export type Resolved =
  | { ok: true; node: TreeNode; real: string[]; parent: DirectoryNode | null }
  | { ok: false; failure: Failure; missing: { parent: DirectoryNode; name: string; rest: string[] } | null }

const MAX_LINKS = 40
const READ = 0o400
const WRITE = 0o200
const SEARCH = 0o100

export const directory = (mode = 0o755): DirectoryNode => ({ kind: 'directory', entries: new Map(), mode })
export const mayRead = (node: FileNode | DirectoryNode) => (node.mode & READ) !== 0
export const mayEnter = (node: DirectoryNode) => (node.mode & SEARCH) !== 0
export const mayChange = (node: DirectoryNode) => (node.mode & (WRITE | SEARCH)) === (WRITE | SEARCH)

export const latin1 = (text: string) => Buffer.from(text).toString('latin1')
export const text = (name: string) => Buffer.from(name, 'latin1').toString()

/** `path` is relative to the root and in latin1; links are followed, the last one too. */
export function resolve(root: DirectoryNode, path: string): Resolved {
  const parts = path.split('/').filter(part => part !== '' && part !== '.')
  const folders: { node: DirectoryNode; name: string }[] = [{ node: root, name: '' }]
  let links = 0
  const realOf = (...more: string[]) => [...folders.slice(1).map(folder => folder.name), ...more]
  for (;;) {
    const here = folders.at(-1)
    const name = parts.shift()
    if (!here) return { ok: false, failure: 'ENOENT', missing: null }
    if (name === undefined) {
      return { ok: true, node: here.node, real: realOf(), parent: folders.at(-2)?.node ?? null }
    }
    if (!mayEnter(here.node)) return { ok: false, failure: 'EACCES', missing: null }
    if (name === '..') {
      folders.pop()
      continue
    }
    const node = here.node.entries.get(name)
    if (!node) {
      return { ok: false, failure: 'ENOENT', missing: { parent: here.node, name, rest: parts } }
    }
    if (node.kind === 'symlink') {
      links++
      if (links > MAX_LINKS) return { ok: false, failure: 'ELOOP', missing: null }
      parts.unshift(...node.target.split('/').filter(part => part !== '' && part !== '.'))
    } else if (node.kind === 'directory') folders.push({ node, name })
    else if (parts.length > 0) return { ok: false, failure: 'ENOTDIR', missing: null }
    else return { ok: true, node, real: realOf(name), parent: here.node }
  }
}

/** One line for each node, for a failing test to print and for the comparison of two trees. */
export function described(root: DirectoryNode): string[] {
  const lines: string[] = []
  const visit = (node: TreeNode, path: string) => {
    const name = JSON.stringify(path)
    if (node.kind === 'symlink') lines.push(`${name} link ${JSON.stringify(node.target)}`)
    else if (node.kind === 'fifo') lines.push(`${name} fifo`)
    else if (node.kind === 'file') {
      lines.push(`${name} file ${node.mode.toString(8)} ${JSON.stringify(node.bytes.toString('latin1'))}`)
    } else {
      lines.push(`${name} directory ${node.mode.toString(8)}`)
      for (const key of [...node.entries.keys()].sort()) {
        const entry = node.entries.get(key)
        if (entry) visit(entry, `${path}/${key}`)
      }
    }
  }
  visit(root, '')
  return lines
}
