/** Removed sessions: their whole folder, moved to `<root>/.trash/<id>.<ns>/` after the next epoch was taken. */
import { join } from 'node:path'
import { isSessionId, type SessionId } from '@beige/protocol'
import { fail } from '../errors.ts'
import type { SessionWorld } from '../outside.ts'
import type { TrashedSession } from '../store.ts'

export const TRASH = '.trash'
const NS_PER_MS = 1_000_000n

export interface Trash {
  /** Moves the folder of a session that is ours and closed. */
  take(id: SessionId): Promise<void>
  /** Newest first. */
  list(): Promise<readonly (TrashedSession & { place: string })[]>
  restore(id: SessionId): Promise<void>
  /** Removes for good what came here before `time` (ms); answers how many. */
  empty(time: number): Promise<number>
}

export function createTrash({ world, root }: { world: SessionWorld; root: string }): Trash {
  const { clock, disk } = world
  const folder = join(root, TRASH)

  async function moved(from: string, to: string): Promise<boolean> {
    if (!(await disk.rename(from, to))) return false
    await disk.syncDirectory(folder)
    await disk.syncDirectory(root)
    return true
  }

  async function list() {
    return ((await disk.list(folder)) ?? [])
      .flatMap(name => entryOf(folder, name))
      .sort((a, b) => b.deletedAt - a.deletedAt)
  }

  return {
    async take(id) {
      if (await disk.makeDirectory(folder)) await disk.syncDirectory(root)
      const name = `${id}.${BigInt(Math.trunc(clock.now())) * NS_PER_MS}`
      if (!(await moved(join(root, id), join(folder, name)))) throw fail('not_found', { id })
    },
    list,
    async restore(id) {
      const newest = (await list()).find(entry => entry.id === id)
      if (!newest) throw fail('not_in_trash', { id })
      if ((await disk.list(join(root, id))) !== null) throw fail('exists', { id })
      if (!(await moved(newest.place, join(root, id)))) throw fail('not_in_trash', { id })
    },
    async empty(time) {
      const old = (await list()).filter(entry => entry.deletedAt < time)
      for (const { place } of old) await disk.removeTree(place)
      return old.length
    },
  }
}

function entryOf(folder: string, name: string): (TrashedSession & { place: string })[] {
  const dot = name.lastIndexOf('.')
  const [id, ns] = [name.slice(0, dot), name.slice(dot + 1)]
  if (!isSessionId(id) || !/^\d{1,20}$/.test(ns)) return []
  return [{ id, deletedAt: Number(BigInt(ns) / NS_PER_MS), place: join(folder, name) }]
}
