/** A disk that fails when a test says so: full after so many bytes, a sync that errs, a process that stops in a call. */
import type { Disk, WritableFile } from '../src/outside.ts'

export interface FaultyDisk extends Disk {
  /** Bytes that still fit; a write takes what fits and then fails with ENOSPC. */
  room: number
  /** Syncs of files that fail from now on. */
  failingSyncs: number
  /** Awaited at the beginning of each call. */
  before: (call: string, path: string) => Promise<void>
}

export function createFaultyDisk(disk: Disk): FaultyDisk {
  const faulty: FaultyDisk = {
    ...disk,
    room: Number.POSITIVE_INFINITY,
    failingSyncs: 0,
    before: async () => {},
    async create(path) {
      await faulty.before('create', path)
      const file = await disk.create(path)
      return file && wrap(file, path)
    },
    async openDirectory(path) {
      await faulty.before('openDirectory', path)
      return disk.openDirectory(path)
    },
    async syncFile(path) {
      await faulty.before('syncFile', path)
      return disk.syncFile(path)
    },
    async syncDirectory(path) {
      await faulty.before('syncDirectory', path)
      return disk.syncDirectory(path)
    },
    async remove(path) {
      await faulty.before('remove', path)
      return disk.remove(path)
    },
    async replace(path, bytes) {
      await faulty.before('replace', path)
      if (bytes.length > faulty.room) throw noSpace()
      return disk.replace(path, bytes)
    },
  }

  function wrap(file: WritableFile, path: string): WritableFile {
    return {
      identity: file.identity,
      async write(bytes, offset) {
        await faulty.before('write', path)
        const fitting = bytes.subarray(0, Math.max(0, Math.min(bytes.length, faulty.room)))
        faulty.room -= fitting.length
        if (fitting.length > 0) await file.write(fitting, offset)
        if (fitting.length < bytes.length) throw noSpace()
      },
      async sync() {
        await faulty.before('sync', path)
        if (faulty.failingSyncs > 0) {
          faulty.failingSyncs--
          throw Object.assign(new TypeError('EIO: i/o error, fdatasync'), { code: 'EIO' })
        }
        return file.sync()
      },
      close: () => file.close(),
    }
  }
  return faulty
}

function noSpace(): Error {
  return Object.assign(new TypeError('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })
}
