/** A tree of the model on a disk, and back. */
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { type DirectoryNode, directory, type TreeNode } from '../model/file-tree.ts'

export type Owner = { uid: number; gid: number } | null // null: whoever runs the test

const below = (folder: Buffer, name: string) => Buffer.concat([folder, Buffer.from(`/${name}`, 'latin1')])

/** The same tree in several places. Rights come last, since they may shut out whoever builds it. */
export function buildTrees(root: DirectoryNode, places: readonly { folder: string; owner: Owner }[]): void {
  const fifos: Buffer[] = []
  for (const { folder } of places) make(root, Buffer.from(folder), fifos)
  // Their names may be such that no argument of ours can carry them.
  if (fifos.length > 0) {
    const names = Buffer.concat(fifos.map(name => Buffer.concat([name, Buffer.of(0)])))
    execFileSync('xargs', ['-0', 'mkfifo', '--'], { input: names })
  }
  for (const { folder, owner } of places) dress(root, Buffer.from(folder), owner)
}

function make(node: TreeNode, path: Buffer, fifos: Buffer[]): void {
  if (node.kind === 'symlink') symlinkSync(Buffer.from(node.target, 'latin1'), path)
  else if (node.kind === 'fifo') fifos.push(path)
  else if (node.kind === 'file') writeFileSync(path, node.bytes)
  else {
    mkdirSync(path)
    for (const [name, entry] of node.entries) make(entry, below(path, name), fifos)
  }
}

function dress(node: TreeNode, path: Buffer, owner: Owner): void {
  if (node.kind === 'directory') {
    for (const [name, entry] of node.entries) dress(entry, below(path, name), owner)
  }
  if (owner) lchownSync(path, owner.uid, owner.gid)
  if ('mode' in node) chmodSync(path, node.mode)
}

export function readTree(path: string): DirectoryNode {
  const found = readNode(Buffer.from(path))
  if (found.kind !== 'directory') throw new Error(`${path} is a ${found.kind}`)
  return found
}

/** Only root, or nobody who is shut out, reads all of it. */
function readNode(path: Buffer): TreeNode {
  const about = lstatSync(path)
  const mode = about.mode & 0o7777
  if (about.isSymbolicLink()) {
    return { kind: 'symlink', target: readlinkSync(path, { encoding: 'buffer' }).toString('latin1') }
  }
  if (about.isFIFO()) return { kind: 'fifo' }
  if (about.isFile())
    return { kind: 'file', mode, version: 0, bytes: opened(path, mode, () => readFileSync(path)) }
  const node = directory(mode)
  opened(path, mode, () => {
    for (const name of readdirSync(path, { encoding: 'buffer' })) {
      node.entries.set(name.toString('latin1'), readNode(below(path, name.toString('latin1'))))
    }
  })
  return node
}

function opened<T>(path: Buffer, mode: number, read: () => T): T {
  chmodSync(path, mode | 0o700)
  try {
    return read()
  } finally {
    chmodSync(path, mode)
  }
}

export function removeTrees(folders: readonly string[]): void {
  execFileSync('chmod', ['-R', 'u+rwX', '--', ...folders])
  execFileSync('rm', ['-rf', '--', ...folders])
}
