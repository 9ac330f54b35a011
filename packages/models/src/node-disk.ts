/** The disk of a real process. */
import { createReadStream } from 'node:fs'
import { mkdir, open, readFile, rename, unlink } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { StateDisk } from './outside.ts'

const NEWLINE = 10

export const nodeDisk: StateDisk = {
  read: path => readFile(path).catch(missingIsNull),
  async *readPieces(path) {
    try {
      yield* createReadStream(path)
    } catch (error) {
      missingIsNull(error)
    }
  },
  async replace(path, bytes) {
    const temporary = `${path}.${process.pid}.tmp`
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    await unlink(temporary).catch(missingIsNull)
    {
      await using file = await open(temporary, 'wx', 0o600)
      await file.writeFile(bytes)
      await file.sync()
    }
    await rename(temporary, path)
    await using directory = await open(dirname(path), 'r')
    await directory.sync()
  },
  rename: (from, to) => rename(from, to),
  async append(path) {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    const file = await open(path, 'a+', 0o600)
    const { size } = await file.stat()
    const last = Buffer.alloc(1)
    if (size > 0) await file.read(last, 0, 1, size - 1)
    return {
      endsWithNewline: size === 0 || last[0] === NEWLINE,
      write: bytes => file.appendFile(bytes),
      sync: () => file.datasync(),
      close: () => file.close(),
    }
  },
}

function missingIsNull(error: unknown): null {
  if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null
  throw error
}
