/**
 * Says each second that this process lives, in `<root>/.replicas/<incarnation>`, while it owns a session of the store.
 * For liveness alone: it may fail or lie without harm, since the fence decides what becomes history.
 */
import { join } from 'node:path'
import { HEARTBEAT_MS } from '../incarnation.ts'
import type { SessionWorld, WritableFile } from '../outside.ts'
import { lineHash } from '../record-line.ts'

export const REPLICAS = '.replicas'
const RECORD_BYTES = 128

export interface Heartbeat {
  /** Begins to own one session. */
  begin(): void
  /** Ends to own one. */
  end(): void
  close(): Promise<void>
}

export function createHeartbeat(parts: {
  world: SessionWorld
  root: string
  incarnation: string
}): Heartbeat {
  const { world, root, incarnation } = parts
  const path = join(root, REPLICAS, incarnation)
  const info = Buffer.from(`${JSON.stringify({ incarnation, started_at: world.clock.now() })}\n`)
  let owned = 0
  let counter = 0
  let file: WritableFile | null = null
  let stop: (() => void) | null = null
  let beating: Promise<void> = Promise.resolve()

  async function beat(): Promise<void> {
    try {
      const isFirst = file === null
      if (isFirst) await world.disk.makeDirectory(join(root, REPLICAS))
      file ??= await world.disk.create(path)
      await file?.write(Buffer.concat([info, beatRecord(++counter)]), 0)
      // The first is not synced: opening must not wait for it, and on one machine it is seen without.
      if (!isFirst) await file?.sync()
    } catch {
      // The next second tries again. Three of these and others may take the sessions over, as they should.
    }
  }

  function next(): Promise<void> {
    beating = beating.then(beat)
    return beating
  }

  return {
    begin() {
      owned++
      if (stop) return
      void next()
      stop = world.ticker.every(HEARTBEAT_MS, next)
    },
    end() {
      if (--owned > 0) return
      stop?.()
      stop = null
    },
    async close() {
      stop?.()
      stop = null
      await beating
      if (!file) return
      await file.close()
      file = null
      await world.disk.remove(path)
    },
  }
}

/** Of one length, so that it is rewritten in place; read by comparing it with what was there before. */
function beatRecord(counter: number): Uint8Array {
  const text = String(counter).padStart(20, '0')
  return Buffer.from(`${text} ${lineHash(Buffer.from(text))}`.padEnd(RECORD_BYTES - 1).concat('\n'))
}
