/** The disk as one process reaches it: each call takes a while, may fail, and is left half done where its caller is killed. */
import type { Disk, OpenDirectory, WritableFile } from '@beige/sessions'
import type { Dice } from './dice.ts'
import { diskError, type SimDisk, type SimFile } from './sim-disk.ts'
import type { SimProcess } from './sim-process.ts'

/** What goes wrong with a process's calls; set by the faults of the simulation. */
export type DiskTrouble = {
  /** Added to each call: a mount that hangs. */
  stallMs: number
  /** Calls that fail with EIO from now on, by their kind. */
  failing: { write: number; sync: number; read: number }
  /** Told of each call that failed, by its error. */
  failed(kind: 'EIO write' | 'EIO sync' | 'EIO read' | 'ENOSPC'): void
  torn(): void
}

export function createProcessDisk(
  disk: SimDisk,
  process: SimProcess,
  dice: Dice,
  trouble: DiskTrouble,
): Disk {
  const tookMs = () => (dice.chance(0.01) ? dice.between(5, 60) : dice.between(0.02, 0.3)) + trouble.stallMs

  function call<T>(name: string, work: () => T, torn?: (share: number) => void): Promise<T> {
    return process.kernel(
      tookMs(),
      name,
      () => {
        try {
          return work()
        } catch (error) {
          if (error instanceof Error && 'code' in error && error.code === 'ENOSPC') trouble.failed('ENOSPC')
          throw error
        }
      },
      torn,
    )
  }

  function failsBy(kind: 'write' | 'sync' | 'read'): boolean {
    if (trouble.failing[kind] <= 0) return false
    trouble.failing[kind]--
    trouble.failed(`EIO ${kind}`)
    return true
  }

  function read(path: string, from: (size: number) => number, to: (size: number) => number) {
    return call(`reads ${path}`, () => {
      const file = disk.fileAt(path)
      if (!file) return null
      if (failsBy('read')) throw diskError('EIO', path)
      return disk.read(file, from(file.size), to(file.size))
    })
  }

  function opened(file: SimFile, path: string): WritableFile {
    return {
      identity: file.identity,
      write(bytes, offset) {
        const part = (length: number) => {
          trouble.torn()
          disk.write(file, bytes.subarray(0, length), offset)
        }
        return call(
          `writes ${path} from ${offset} to ${offset + bytes.length}`,
          () => {
            if (failsBy('write')) {
              part(dice.below(bytes.length + 1))
              throw diskError('EIO', 'write')
            }
            disk.write(file, bytes, offset)
          },
          share => part(Math.floor(share * bytes.length)),
        )
      },
      sync: () =>
        call(`syncs ${path}`, () => {
          if (failsBy('sync')) {
            disk.failSync(file)
            throw diskError('EIO', 'fdatasync')
          }
          disk.sync(file)
        }),
      close: async () => {},
    }
  }

  return {
    makeDirectory: path => call(`makes ${path}`, () => disk.makeDirectory(path)),
    list: path => call(`lists ${path}`, () => disk.list(path)),
    create: async path => {
      const file = await call(`creates ${path}`, () => disk.create(path))
      return file && opened(file, path)
    },
    read: path =>
      read(
        path,
        () => 0,
        size => size,
      ),
    readHead: (path, maxBytes) =>
      read(
        path,
        () => 0,
        size => Math.min(size, maxBytes),
      ),
    readTail: (path, maxBytes) =>
      read(
        path,
        size => size - maxBytes,
        size => size,
      ),
    readFrom: (path, offset) =>
      read(
        path,
        () => offset,
        size => size,
      ),
    openDirectory: path =>
      call(`opens ${path}`, (): OpenDirectory | null => {
        if (disk.list(path) === null) return null
        return {
          identityOf: name => call(`looks for ${name} in ${path}`, () => disk.identityIn(path, name)),
          close: async () => {},
        }
      }),
    syncFile: path =>
      call(`syncs ${path}`, () => {
        const file = disk.fileAt(path)
        if (!file) return
        if (failsBy('sync')) throw diskError('EIO', 'fdatasync')
        disk.syncAnew(file)
      }),
    syncDirectory: path => call(`syncs ${path}`, () => disk.syncDirectory(path)),
    replace: (path, bytes) => call(`replaces ${path}`, () => disk.replace(path, bytes)),
    remove: path => call(`removes ${path}`, () => disk.remove(path)),
    removeTree: path => call(`removes all of ${path}`, () => disk.removeTree(path)),
    rename: (from, to) => call(`renames ${from} to ${to}`, () => disk.rename(from, to)),
    removeDirectory: path => call(`removes ${path}`, () => disk.removeDirectory(path)),
  }
}
