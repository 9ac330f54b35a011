/**
 * The disk of the simulated machine: what its processes see (the page cache), and what of it would outlive a power loss. A
 * file's bytes are durable once it was synced, an entry of a directory once that directory was; until then each write may
 * be lost, torn at any byte, or leave a hole where an earlier one is missing.
 */
import type { Dice } from './dice.ts'

type Write = { offset: number; bytes: Uint8Array; before: Uint8Array; sizeBefore: number; isDoomed: boolean }
export type SimFile = { kind: 'file'; identity: string; bytes: Buffer; size: number; unsynced: Write[] }
type Entry = { name: string; before: Node | undefined; after: Node | undefined }
type Directory = { kind: 'directory'; entries: Map<string, Node>; unsynced: Entry[] }
type Node = SimFile | Directory

export type Losses = { lostWrites: number; tornWrites: number; lostEntries: number }

export interface SimDisk {
  /** Bytes that still fit; a write takes what fits. */
  room: number
  makeDirectory(path: string): boolean
  list(path: string): string[] | null
  create(path: string): SimFile | null
  fileAt(path: string): SimFile | null
  identityIn(directory: string, name: string): string | null
  read(file: SimFile, from: number, to: number): Uint8Array
  write(file: SimFile, bytes: Uint8Array, offset: number): void
  sync(file: SimFile): void
  /** By another descriptor, which has heard of no failure: what that left is written again. */
  syncAnew(file: SimFile): void
  /** What was written so far stays in doubt for ever: a later sync does not know of it any more. */
  failSync(file: SimFile): void
  syncDirectory(path: string): void
  replace(path: string, bytes: Uint8Array): void
  remove(path: string): boolean
  removeDirectory(path: string): boolean
  /** A directory with all that is in it. */
  removeTree(path: string): void
  rename(from: string, to: string): boolean
  powerLoss(dice: Dice): Losses
}

const FIRST_CAPACITY = 4096

export function createSimDisk(): SimDisk {
  const root: Directory = { kind: 'directory', entries: new Map(), unsynced: [] }
  let identities = 0

  function nodeAt(path: string): Node | undefined {
    let node: Node | undefined = root
    for (const part of path.split('/')) {
      if (part === '') continue
      if (node?.kind !== 'directory') return undefined
      node = node.entries.get(part)
    }
    return node
  }

  function directoryAt(path: string): Directory | null {
    const node = nodeAt(path)
    return node?.kind === 'directory' ? node : null
  }

  function parentOf(path: string): { directory: Directory; name: string } {
    const cut = path.lastIndexOf('/')
    const directory = directoryAt(path.slice(0, cut))
    if (!directory) throw diskError('ENOENT', path)
    return { directory, name: path.slice(cut + 1) }
  }

  function setEntry(directory: Directory, name: string, after: Node | undefined): void {
    directory.unsynced.push({ name, before: directory.entries.get(name), after })
    put(directory, name, after)
  }

  function newFile(): SimFile {
    const identity = String(++identities)
    return { kind: 'file', identity, bytes: Buffer.alloc(FIRST_CAPACITY), size: 0, unsynced: [] }
  }

  const disk: SimDisk = {
    room: Number.POSITIVE_INFINITY,
    makeDirectory(path) {
      const { directory, name } = parentOf(path)
      if (directory.entries.has(name)) return false
      if (disk.room <= 0) throw diskError('ENOSPC', path)
      setEntry(directory, name, { kind: 'directory', entries: new Map(), unsynced: [] })
      return true
    },
    list: path => {
      const directory = directoryAt(path)
      return directory && [...directory.entries.keys()]
    },
    create(path) {
      const { directory, name } = parentOf(path)
      if (directory.entries.has(name)) return null
      if (disk.room <= 0) throw diskError('ENOSPC', path)
      const file = newFile()
      setEntry(directory, name, file)
      return file
    },
    fileAt: path => {
      const node = nodeAt(path)
      return node?.kind === 'file' ? node : null
    },
    identityIn: (path, name) => {
      const node = directoryAt(path)?.entries.get(name)
      return node?.kind === 'file' ? node.identity : null
    },
    read: (file, from, to) =>
      Uint8Array.prototype.slice.call(file.bytes, Math.max(0, from), Math.min(to, file.size)),
    write(file, bytes, offset) {
      const fitting = bytes.subarray(0, Math.max(0, Math.min(bytes.length, disk.room)))
      disk.room -= fitting.length
      if (fitting.length > 0) {
        const end = Math.min(file.size, offset + fitting.length)
        const before = end > offset ? Uint8Array.prototype.slice.call(file.bytes, offset, end) : NOTHING
        file.unsynced.push({ offset, bytes: fitting, before, sizeBefore: file.size, isDoomed: false })
        putBytes(file, fitting, offset)
      }
      if (fitting.length < bytes.length) throw diskError('ENOSPC', 'write')
    },
    sync(file) {
      if (file.unsynced.length > 0) file.unsynced = file.unsynced.filter(write => write.isDoomed)
    },
    syncAnew(file) {
      file.unsynced = []
    },
    failSync(file) {
      for (const write of file.unsynced) write.isDoomed = true
    },
    syncDirectory(path) {
      const directory = directoryAt(path)
      if (!directory) throw diskError('ENOENT', path)
      directory.unsynced = []
    },
    replace(path, bytes) {
      if (bytes.length > disk.room) throw diskError('ENOSPC', path)
      const { directory, name } = parentOf(path)
      const file = newFile()
      putBytes(file, bytes, 0)
      put(directory, name, file)
    },
    remove(path) {
      const { directory, name } = parentOf(path)
      if (!directory.entries.has(name)) return false
      setEntry(directory, name, undefined)
      return true
    },
    removeDirectory(path) {
      const directory = directoryAt(path)
      if (!directory) return false
      if (directory.entries.size > 0) throw diskError('ENOTEMPTY', path)
      const parent = parentOf(path)
      setEntry(parent.directory, parent.name, undefined)
      return true
    },
    removeTree(path) {
      const { directory, name } = parentOf(path)
      if (directory.entries.has(name)) setEntry(directory, name, undefined)
    },
    rename(from, to) {
      const node = nodeAt(from)
      if (!node) return false
      const before = parentOf(from)
      const after = parentOf(to)
      setEntry(after.directory, after.name, node)
      setEntry(before.directory, before.name, undefined)
      return true
    },
    powerLoss(dice) {
      const losses: Losses = { lostWrites: 0, tornWrites: 0, lostEntries: 0 }
      cutPower(root, dice, losses)
      return losses
    },
  }
  return disk
}

const NOTHING = new Uint8Array(0)

export function diskError(code: string, what: string): Error {
  return Object.assign(new Error(`${code}: ${what}`), { code })
}

function put(directory: Directory, name: string, node: Node | undefined): void {
  if (node) directory.entries.set(name, node)
  else directory.entries.delete(name)
}

function putBytes(file: SimFile, bytes: Uint8Array, offset: number): void {
  const end = offset + bytes.length
  if (end > file.bytes.length) {
    const larger = Buffer.alloc(Math.max(end, 2 * file.bytes.length))
    file.bytes.copy(larger, 0, 0, file.size)
    file.bytes = larger
  }
  // What a hole is made of: an earlier life of these bytes does not show through.
  if (offset > file.size) file.bytes.fill(0, file.size, offset)
  file.bytes.set(bytes, offset)
  file.size = Math.max(file.size, end)
}

function cutPower(directory: Directory, dice: Dice, losses: Losses): void {
  const { unsynced } = directory
  directory.unsynced = []
  for (const { name, before } of unsynced.toReversed()) put(directory, name, before)
  for (const { name, after } of unsynced) {
    if (dice.chance(0.5)) put(directory, name, after)
    else losses.lostEntries++
  }
  for (const node of directory.entries.values()) {
    if (node.kind === 'directory') cutPower(node, dice, losses)
    else loseWrites(node, dice, losses)
  }
}

function loseWrites(file: SimFile, dice: Dice, losses: Losses): void {
  const { unsynced } = file
  file.unsynced = []
  for (const { offset, before, sizeBefore } of unsynced.toReversed()) {
    file.bytes.set(before, offset)
    file.size = sizeBefore
  }
  for (const { offset, bytes } of unsynced) {
    const fate = dice.next()
    if (fate < 0.4) losses.lostWrites++
    else if (fate < 0.8) {
      losses.tornWrites++
      putBytes(file, bytes.subarray(0, dice.below(bytes.length + 1)), offset)
    } else putBytes(file, bytes, offset)
  }
}
