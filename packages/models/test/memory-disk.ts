/** A disk in memory that can be full, and whose unsynced bytes a power cut takes. */
import type { StateDisk } from '../src/index.ts'

export type MemoryDisk = StateDisk & {
  files: Map<string, Uint8Array>
  /** Bytes that still fit; then a write is torn and fails. */
  room: number
  /** How often something was made durable. */
  syncs: number
  /** A write that was begun waits for it. */
  gate: Promise<unknown> | null
}

export function memoryDisk(): MemoryDisk {
  const files = new Map<string, Uint8Array>()
  const disk: MemoryDisk = {
    files,
    room: Number.POSITIVE_INFINITY,
    syncs: 0,
    gate: null,
    read: async path => files.get(path) ?? null,
    async *readPieces(path) {
      const bytes = files.get(path) ?? new Uint8Array()
      for (let at = 0; at < bytes.length; at += 1000) yield bytes.subarray(at, at + 1000)
    },
    async replace(path, bytes) {
      take(bytes.length)
      files.set(path, bytes)
      disk.syncs++
    },
    async rename(from, to) {
      const bytes = files.get(from)
      if (bytes === undefined) throw new Error(`ENOENT: ${from}`)
      files.delete(from)
      files.set(to, bytes)
    },
    async append(path) {
      const before = files.get(path)
      if (before === undefined) files.set(path, new Uint8Array())
      return {
        endsWithNewline: before === undefined || before.length === 0 || before.at(-1) === 10,
        async write(bytes) {
          await disk.gate
          const fits = bytes.subarray(0, Math.min(bytes.length, disk.room))
          files.set(path, grown(files.get(path) ?? new Uint8Array(), fits))
          take(bytes.length)
        },
        async sync() {
          disk.syncs++
        },
        async close() {},
      }
    },
  }
  const take = (bytes: number): void => {
    const isFull = bytes > disk.room
    disk.room = Math.max(0, disk.room - bytes)
    if (isFull) throw new Error('ENOSPC: no space left on device')
  }
  return disk
}

export function textIn(disk: MemoryDisk, path: string): string {
  return new TextDecoder().decode(disk.files.get(path) ?? new Uint8Array())
}

/** Twice the room when it is full, so that many small pieces are not copied each time. */
function grown(before: Uint8Array, more: Uint8Array): Uint8Array {
  const end = before.byteOffset + before.length
  const room = before.buffer.byteLength - end
  if (room >= more.length) {
    new Uint8Array(before.buffer).set(more, end)
    return new Uint8Array(before.buffer, before.byteOffset, before.length + more.length)
  }
  const bigger = new Uint8Array(2 * (before.length + more.length))
  bigger.set(before)
  bigger.set(more, before.length)
  return bigger.subarray(0, before.length + more.length)
}
