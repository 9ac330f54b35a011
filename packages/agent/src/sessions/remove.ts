/** `agent sessions rm`, `restore` and `gc`: to the trash, back out of it, and what nobody misses. */
import { plural, visible } from '@beige/client'
import { isError, isSessionId, type SessionId } from '@beige/protocol'
import type { SessionStore, TrashedSession } from '@beige/sessions'
import { fail } from '../errors.ts'
import type { ProcessWorld } from '../process-world.ts'
import { whole } from './list.ts'
import { type PlaceOptions, withPlace, withSession } from './place.ts'

export type GcOptions = PlaceOptions & { days?: string; dryRun?: boolean }

const DEFAULT_DAYS = 30
const DAY_MS = 86_400_000
const EMPTY_MS = 3_600_000 // younger ones may be about to get their first prompt
const PAGE = 500

export async function removeCommand(
  names: readonly string[],
  raw: PlaceOptions,
  world: ProcessWorld,
): Promise<number> {
  const removed: SessionId[] = []
  for (const name of names) {
    await withSession(name, raw, world, async ({ id, store }) => {
      await store.remove(id)
      removed.push(id)
      if (raw.json !== true) say(world, `${id} is in the trash; back with: agent sessions restore ${id}`)
    })
  }
  if (raw.json === true) say(world, JSON.stringify({ removed }))
  return 0
}

export async function restoreCommand(name: string, raw: PlaceOptions, world: ProcessWorld): Promise<number> {
  return withPlace(raw, world, async ({ store, root }) => {
    const id = await trashed(name, store, root)
    await store.restore(id)
    say(world, raw.json === true ? JSON.stringify({ restored: id }) : `${id} is back`)
    return 0
  })
}

/** Sessions without a prompt, older than an hour, and what lies in the trash for longer than `--days`. */
export async function gcCommand(raw: GcOptions, world: ProcessWorld): Promise<number> {
  const days = whole('--days', raw.days, DEFAULT_DAYS, 0)
  return withPlace(raw, world, async ({ store }) => {
    const now = world.clock.now()
    const before = days === 0 ? Number.MAX_SAFE_INTEGER : now - days * DAY_MS
    const empty = await emptyOnes(store, now - EMPTY_MS)
    const expired = (await store.trash()).filter(one => one.deletedAt < before)
    const isDry = raw.dryRun === true
    const removed = isDry ? empty : await removeAll(store, empty, world)
    const erased = isDry ? expired.length : await store.emptyTrash(before)
    const report = { empty: removed, expired: expired.map(one => one.id), dry_run: isDry }
    const would = isDry ? 'would be ' : ''
    const text =
      `${plural(removed.length, 'empty session')} ${would}moved to the trash, ` +
      `${erased} of the trash ${would}erased${days > 0 ? ` (older than ${plural(days, 'day')})` : ''}`
    say(world, raw.json === true ? JSON.stringify(report) : text)
    return 0
  })
}

async function emptyOnes(store: SessionStore, before: number): Promise<SessionId[]> {
  const found: SessionId[] = []
  for (let offset = 0; ; offset += PAGE) {
    const { rows } = await store.list({ limit: PAGE, offset })
    for (const row of rows) {
      if (row.updatedAt >= before || (row.messageCount ?? 0) > 0) continue
      if (await isEmpty(store, row.id)) found.push(row.id)
    }
    if (rows.length < PAGE) return found
  }
}

/** The index is a cache; before anything is removed its log is asked. */
async function isEmpty(store: SessionStore, id: SessionId): Promise<boolean> {
  try {
    const records = await store.read(id)
    return records.every(({ type }) => type === 'session' || type === 'setting')
  } catch {
    return false // what can not be read is for `check`, not for us
  }
}

async function removeAll(
  store: SessionStore,
  ids: readonly SessionId[],
  world: ProcessWorld,
): Promise<SessionId[]> {
  const removed: SessionId[] = []
  for (const id of ids) {
    try {
      await store.remove(id)
      removed.push(id)
    } catch (error) {
      if (!isError(error, 'session_busy')) throw error
      world.stderr.write(`${id} is in use and stays\n`)
    }
  }
  return removed
}

async function trashed(name: string, store: SessionStore, root: string): Promise<SessionId> {
  const found: readonly TrashedSession[] = (await store.trash()).filter(one => one.id.startsWith(name))
  const ids = [...new Set(found.map(one => one.id))]
  const exact = ids.find(id => id === name)
  const [only] = ids
  if (exact) return exact
  if (ids.length > 1) throw fail('ambiguous_session', { id: name, candidates: ids.join(', ') })
  if (only) return only
  const isBack = isSessionId(name) && (await store.exists(name))
  throw fail('no_session', {
    id: name,
    place: `the trash of ${root}`,
    see: `agent sessions trash${isBack ? `. ${name} is not removed` : ''}`,
  })
}

function say({ stdout }: ProcessWorld, text: string): void {
  stdout.write(`${visible(text)}\n`)
}
