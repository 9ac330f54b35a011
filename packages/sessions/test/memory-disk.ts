/** A disk in memory, with what tests of damage need: every byte can be read and changed, and copies are cheap. */
import { basename, dirname, join } from 'node:path'
import type { Disk } from '../src/outside.ts'

type StoredFile = { identity: string; bytes: Buffer }

export interface MemoryDisk extends Disk {
  readonly files: Map<string, StoredFile>
  /** All that is there now, on a disk of its own. */
  copy(): MemoryDisk
}

export function createMemoryDisk(): MemoryDisk {
  return diskOf(new Map(), new Set(['/']), 0)
}

function diskOf(files: Map<string, StoredFile>, folders: Set<string>, firstIdentity: number): MemoryDisk {
  let identities = firstIdentity

  const disk: MemoryDisk = {
    files,
    copy: () =>
      diskOf(
        new Map([...files].map(([path, file]) => [path, { ...file, bytes: Buffer.from(file.bytes) }])),
        new Set(folders),
        identities,
      ),
    async makeDirectory(path) {
      if (!folders.has(dirname(path))) throw Object.assign(new Error(`ENOENT ${path}`), { code: 'ENOENT' })
      if (folders.has(path)) return false
      folders.add(path)
      return true
    },
    async list(path) {
      if (!folders.has(path)) return null
      return [...files.keys(), ...folders]
        .filter(one => one !== path && dirname(one) === path)
        .map(one => basename(one))
    },
    async create(path) {
      if (files.has(path)) return null
      const file: StoredFile = { identity: String(++identities), bytes: Buffer.alloc(0) }
      files.set(path, file)
      return {
        identity: file.identity,
        async write(bytes, offset) {
          if (file.bytes.length < offset + bytes.length) {
            file.bytes = Buffer.concat([file.bytes, Buffer.alloc(offset + bytes.length - file.bytes.length)])
          }
          file.bytes.set(bytes, offset)
        },
        async sync() {},
        async close() {},
      }
    },
    read: async path => bytesOf(path),
    readHead: async (path, maxBytes) => bytesOf(path)?.subarray(0, maxBytes) ?? null,
    readTail: async (path, maxBytes) => bytesOf(path)?.subarray(-maxBytes) ?? null,
    readFrom: async (path, offset) => bytesOf(path)?.subarray(offset) ?? null,
    async openDirectory(path) {
      if (!folders.has(path)) return null
      return { identityOf: async name => files.get(join(path, name))?.identity ?? null, async close() {} }
    },
    async syncFile() {},
    async syncDirectory() {},
    async replace(path, bytes) {
      files.set(path, { identity: String(++identities), bytes: Buffer.from(bytes) })
    },
    remove: async path => files.delete(path),
    async rename(from, to) {
      if (!folders.has(from)) return false
      const moved = (path: string) =>
        path === from || path.startsWith(`${from}/`) ? to + path.slice(from.length) : path
      for (const path of [...folders]) if (folders.delete(path)) folders.add(moved(path))
      for (const [path, file] of [...files]) if (files.delete(path)) files.set(moved(path), file)
      return true
    },
    async removeTree(path) {
      for (const one of [...folders]) if (one === path || one.startsWith(`${path}/`)) folders.delete(one)
      for (const one of [...files.keys()]) if (one.startsWith(`${path}/`)) files.delete(one)
    },
    removeDirectory: async path => folders.delete(path),
  }

  function bytesOf(path: string): Buffer | null {
    const file = files.get(path)
    return file ? Buffer.from(file.bytes) : null
  }
  return disk
}
