/**
 * Writes the segment of the epoch that we own. It is only ever appended to; a write or sync that failed or is in doubt
 * ends it, and the next one seals it at its last good offset (design page "Sessions", Store `files`).
 */
import { join } from 'node:path'
import { type BeigeError, isError, messageOf, type SessionId } from '@beige/protocol'
import { fail } from '../errors.ts'
import type { Disk, WritableFile } from '../outside.ts'
import type { LogBackend } from '../owned-log.ts'
import { encodeHeader, RELEASED, segmentName } from '../segment-lines.ts'

export interface SegmentWriter extends LogBackend {
  /** Writes the header. Not before this has resolved are we the owner. */
  begin(): Promise<void>
  /** Plain lines, durable and fenced like records; false when the segment ended by it. */
  writeLines(lines: readonly Uint8Array[]): Promise<boolean>
  /** A whole base is in this segment: the seals of older ones are needed no more. */
  forgetSeals(): void
}

/** `pending`: made by us, still empty. */
type Segment = { epoch: number; file: WritableFile; goodEnd: number; state: 'pending' | 'good' | 'ended' }

export type WriterParts = {
  disk: Disk
  id: SessionId
  folder: string
  owner: string
  epoch: number
  file: WritableFile
  /** Where the segments before end. */
  sealed: ReadonlyMap<number, number>
  lastSeq: number
  prev: string
  /** Directories whose new entries must be durable with the first write. */
  unsynced?: readonly string[]
}

export function createSegmentWriter(parts: WriterParts): SegmentWriter {
  const { disk, id, folder, owner } = parts
  const sealed = new Map(parts.sealed)
  let { lastSeq, prev } = parts
  let unsynced = parts.unsynced ?? []
  let segment: Segment = { epoch: parts.epoch, file: parts.file, goodEnd: 0, state: 'pending' }

  /** Exactly our file under our number, and nobody has the next one. */
  async function isOwner({ epoch, file }: Segment): Promise<boolean> {
    const directory = await disk.openDirectory(folder)
    if (!directory) return false
    try {
      const [mine, next] = await Promise.all([
        directory.identityOf(segmentName(epoch)),
        directory.identityOf(segmentName(epoch + 1)),
      ])
      return mine === file.identity && next === null
    } finally {
      await directory.close()
    }
  }

  async function superseded(): Promise<BeigeError> {
    await closeQuietly(segment.file)
    return fail('session_superseded', { id, epoch: segment.epoch })
  }

  function storage(what: string, error: unknown): BeigeError {
    return fail('storage', { id, what, reason: messageOf(error) }, error)
  }

  /** Durable and fenced when it resolves; else the segment has ended, or nothing at all was written to it. */
  async function write(bytes: Uint8Array): Promise<void> {
    const current = segment
    let isMine: boolean
    try {
      await current.file.write(bytes, current.goodEnd)
    } catch (error) {
      if (current.state === 'good' || !(await isEmpty(current))) current.state = 'ended'
      throw error
    }
    try {
      await Promise.all([current.file.sync(), ...unsynced.map(path => disk.syncDirectory(path))])
      isMine = await isOwner(current)
    } catch (error) {
      current.state = 'ended'
      throw error
    }
    if (!isMine) {
      current.state = 'ended'
      throw await superseded()
    }
    unsynced = []
    current.state = 'good'
    current.goodEnd += bytes.length
  }

  /** A full disk often takes not one byte; such a segment can be used when there is room, instead of one more a try. */
  async function isEmpty({ epoch }: Segment): Promise<boolean> {
    try {
      const head = await disk.readHead(join(folder, segmentName(epoch)), 1)
      return head?.length === 0
    } catch {
      return false
    }
  }

  function headerLine(): Uint8Array {
    const seals = Object.fromEntries([...sealed].sort((a, b) => a[0] - b[0]))
    return encodeHeader({ epoch: segment.epoch, owner, last_seq: lastSeq, prev, sealed: seals })
  }

  async function renew(): Promise<void> {
    const { epoch, goodEnd } = segment
    let file: WritableFile | null
    try {
      file = await disk.create(join(folder, segmentName(epoch + 1)))
    } catch (error) {
      throw storage('the next segment', error)
    }
    if (!file) throw await superseded()
    await closeQuietly(segment.file)
    sealed.set(epoch, goodEnd)
    segment = { epoch: epoch + 1, file, goodEnd: 0, state: 'pending' }
    // What the segment before had still to make durable is not forgotten with it.
    unsynced = [...new Set([...unsynced, folder])]
  }

  async function writeBatch(lines: readonly Uint8Array[]): Promise<void> {
    const head = segment.state === 'pending' ? [headerLine()] : []
    await write(joinLines([...head, ...lines]))
  }

  return {
    get epoch() {
      return segment.epoch
    },
    async begin() {
      try {
        await writeBatch([])
      } catch (error) {
        await closeQuietly(segment.file)
        throw isError(error, 'session_superseded') ? error : storage('the header', error)
      }
    },
    async writeLines(lines) {
      try {
        await write(joinLines(lines))
        return true
      } catch (error) {
        if (isError(error, 'session_superseded')) throw error
        return false
      }
    },
    forgetSeals: () => sealed.clear(),
    async commit(encode) {
      // The second attempt is in the next epoch: what failed once may be a matter of that one file.
      for (let attempt = 1; ; attempt++) {
        if (segment.state === 'ended') await renew()
        try {
          const encoded = encode(segment.epoch)
          await writeBatch(encoded.map(one => one.line))
          lastSeq = encoded.at(-1)?.record.seq ?? lastSeq
          prev = encoded.at(-1)?.hash ?? prev
          return
        } catch (error) {
          if (isError(error, 'session_superseded')) throw error
          if (attempt === 2 || segment.state === 'pending') throw storage('the write', error)
        }
      }
    },
    async release() {
      try {
        if (segment.state === 'good') await segment.file.write(joinLines([RELEASED_LINE]), segment.goodEnd)
      } catch {
        // The next owner waits for the expiry instead.
      }
      await closeQuietly(segment.file)
    },
  }
}

const RELEASED_LINE = Buffer.from(RELEASED)
const NEWLINE = Buffer.from('\n')

function joinLines(lines: readonly Uint8Array[]): Uint8Array {
  return Buffer.concat(lines.flatMap(line => [line, NEWLINE]))
}

/** Everything that counts was synced before; what `close` may still say concerns nothing of ours. */
async function closeQuietly(file: WritableFile): Promise<void> {
  try {
    await file.close()
  } catch {
    // see above
  }
}
