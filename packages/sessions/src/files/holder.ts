/** Who holds a session, and whether that process still lives: told by files alone, never by pids or locks (H11). */
import { join } from 'node:path'
import type { SessionId } from '@beige/protocol'
import { fail } from '../errors.ts'
import { EXPIRY_MS, WATCH_MS } from '../incarnation.ts'
import type { Disk, SessionWorld } from '../outside.ts'
import { decodeHeader, MAX_HEADER_BYTES, RELEASED, segmentEpochs, segmentName } from '../segment-lines.ts'
import type { OpenOptions } from '../store.ts'
import { REPLICAS } from './heartbeat.ts'

const MAX_WAIT_MS = 10_000 // owners that follow each other faster than this can be watched are alive
const FIRST_WATCH_MS = 5
const TAIL_BYTES = 256

/** `sign` changes while the holder lives. */
type Holder = { state: 'free' } | { state: 'held'; owner: string; key: string; sign: string }

export interface HolderWatch {
  /** Resolves when nobody alive holds it; rejects with `session_busy` when somebody does. */
  untilFree(id: SessionId, folder: string, options: OpenOptions): Promise<void>
}

export function createHolderWatch(parts: {
  world: SessionWorld
  root: string
  incarnation: string
}): HolderWatch {
  const { world, root, incarnation } = parts
  const { clock, disk } = world
  /** Signs seen before, with the monotonic time of the first look: two looks 3 s apart are enough. */
  const seen = new Map<string, { sign: string; since: number }>()

  function unchangedMs(key: string, sign: string): number {
    const before = seen.get(key)
    const since = before?.sign === sign ? before.since : clock.monotonic()
    seen.set(key, { sign, since })
    return clock.monotonic() - since
  }

  async function heartbeatOf(owner: string): Promise<string> {
    const bytes = await disk.read(join(root, REPLICAS, owner))
    return bytes ? Buffer.from(bytes).toString('latin1') : 'none'
  }

  async function holderOf(id: SessionId, folder: string): Promise<Holder> {
    const epoch = segmentEpochs((await disk.list(folder)) ?? []).at(-1)
    if (epoch === undefined) return { state: 'free' }
    const path = join(folder, segmentName(epoch))
    const [owner, tail] = await Promise.all([headerOwner(disk, path), tailOf(disk, path)])
    if (owner === incarnation || tail.endsWith(`${RELEASED}\n`)) return { state: 'free' }
    // Without a header its maker is about to be the owner, or died on the way.
    if (owner === null) return { state: 'held', owner: 'unknown', key: `${id}/${epoch}`, sign: tail }
    return { state: 'held', owner, key: owner, sign: await heartbeatOf(owner) }
  }

  return {
    async untilFree(id, folder, options) {
      const start = clock.monotonic()
      const looks: { key: string; sign: string }[] = []
      for (;;) {
        const last = looks.at(-1)
        options.signal?.throwIfAborted()
        const holder = await holderOf(id, folder)
        if (holder.state === 'free') return
        const { key, sign, owner } = holder
        const isAlive = last?.key === key && last.sign !== sign
        if (isAlive || clock.monotonic() - start > MAX_WAIT_MS) throw fail('session_busy', { id, owner })
        const unchanged = unchangedMs(key, sign)
        if (unchanged >= EXPIRY_MS) return
        if (!last) options.waiting?.({ owner, atMostMs: EXPIRY_MS - unchanged })
        looks.push({ key, sign })
        // Soon at first: a graceful owner is often just leaving.
        await clock.sleep(Math.min(WATCH_MS, FIRST_WATCH_MS * 2 ** looks.length), options.signal)
      }
    },
  }
}

async function headerOwner(disk: Disk, path: string): Promise<string | null> {
  const head = await disk.readHead(path, MAX_HEADER_BYTES)
  const newline = head?.indexOf(0x0a) ?? -1
  if (!head || newline < 0) return null
  return decodeHeader(head.subarray(0, newline))?.owner ?? null
}

async function tailOf(disk: Disk, path: string): Promise<string> {
  const tail = await disk.readTail(path, TAIL_BYTES)
  return tail ? Buffer.from(tail).toString('latin1') : ''
}
