/** The real disk and the real ticks: the only file of this package that imports `node:fs` or sets a timer. */
import { constants } from 'node:fs'
import { type FileHandle, mkdir, open, readdir, rename, rm, rmdir, stat, unlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Disk, Ticker, WritableFile } from './outside.ts'

const DIRECTORY_MODE = 0o700
const FILE_MODE = 0o600
const DIRECTORY_FLAGS = constants.O_RDONLY | constants.O_DIRECTORY
const CREATE_FLAGS = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL

export const nodeDisk: Disk = {
  makeDirectory: path => unless('EEXIST', false, () => mkdir(path, DIRECTORY_MODE).then(() => true)),
  list: path => unless('ENOENT', null, () => readdir(path)),
  create: path => unless('EEXIST', null, () => createFile(path)),
  read: path => withFile(path, (file, size) => readExactly(file, 0, size)),
  readHead: (path, maxBytes) =>
    withFile(path, (file, size) => readExactly(file, 0, Math.min(size, maxBytes))),
  readTail: (path, maxBytes) =>
    withFile(path, (file, size) => {
      const length = Math.min(size, maxBytes)
      return readExactly(file, size - length, length)
    }),
  readFrom: (path, offset) =>
    withFile(path, (file, size) => readExactly(file, offset, Math.max(0, size - offset))),
  // One call that opens the directory, reads its names and closes it; a name that is not among them needs no second one.
  openDirectory: path =>
    unless('ENOENT', null, async () => {
      const names = new Set(await readdir(path))
      return {
        identityOf: async name =>
          names.has(name)
            ? unless('ENOENT', null, async () => identity(await stat(join(path, name), BIG)))
            : null,
        async close() {},
      }
    }),
  async syncFile(path) {
    await withFile(path, file => file.datasync())
  },
  async syncDirectory(path) {
    await using handle = await open(path, DIRECTORY_FLAGS)
    await handle.sync()
  },
  async replace(path, bytes) {
    const temporary = `${path}.${process.pid}.tmp`
    await unlink(temporary).catch(ignoreMissing)
    const file = await createFile(temporary)
    try {
      await file.write(bytes, 0)
      await file.sync()
    } catch (error) {
      await unlink(temporary).catch(ignoreMissing)
      throw error
    } finally {
      await file.close()
    }
    await rename(temporary, path)
    await nodeDisk.syncDirectory(dirname(path))
  },
  remove: path => unless('ENOENT', false, () => unlink(path).then(() => true)),
  rename: (from, to) => unless('ENOENT', false, () => rename(from, to).then(() => true)),
  removeDirectory: path => unless('ENOENT', false, () => rmdir(path).then(() => true)),
  removeTree: path => rm(path, { recursive: true, force: true }),
}

export const systemTicker: Ticker = {
  every(intervalMs, beat) {
    let isBeating = false
    const timer = setInterval(() => {
      if (isBeating) return
      isBeating = true
      void beat().finally(() => {
        isBeating = false
      })
    }, intervalMs)
    timer.unref()
    return () => clearInterval(timer)
  },
}

const BIG = { bigint: true } as const

function identity(stats: { dev: bigint; ino: bigint }): string {
  return `${stats.dev}:${stats.ino}`
}

async function createFile(path: string): Promise<WritableFile> {
  const handle = await open(path, CREATE_FLAGS, FILE_MODE)
  return {
    identity: identity(await handle.stat(BIG)),
    async write(bytes, offset) {
      for (let done = 0; done < bytes.length; ) {
        const { bytesWritten } = await handle.write(bytes, done, bytes.length - done, offset + done)
        done += bytesWritten
      }
    },
    sync: () => handle.datasync(),
    close: () => handle.close(),
  }
}

async function withFile<T>(
  path: string,
  use: (file: FileHandle, size: number) => Promise<T>,
): Promise<T | null> {
  return unless('ENOENT', null, async () => {
    await using file = await open(path, constants.O_RDONLY)
    return use(file, (await file.stat()).size)
  })
}

/** Fewer than `length` bytes only when the file ends before. */
async function readExactly(file: FileHandle, position: number, length: number): Promise<Uint8Array> {
  const bytes = Buffer.allocUnsafe(length)
  let done = 0
  while (done < length) {
    const { bytesRead } = await file.read(bytes, done, length - done, position + done)
    if (bytesRead === 0) break
    done += bytesRead
  }
  return bytes.subarray(0, done)
}

async function unless<T, U>(code: string, instead: U, action: () => Promise<T>): Promise<T | U> {
  try {
    return await action()
  } catch (error) {
    if (hasCode(error, code)) return instead
    throw error
  }
}

function ignoreMissing(error: unknown): void {
  if (!hasCode(error, 'ENOENT')) throw error
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}
