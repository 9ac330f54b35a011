/** Where the sessions of a command are, and which one a person means: an id, a unique beginning of one, or a path. */
import { stat } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { isSessionId, type SessionId } from '@beige/protocol'
import type { Sealing, SessionRow, SessionStore } from '@beige/sessions'
import { fail } from '../errors.ts'
import { type AgentOptions, agentOptions } from '../options.ts'
import type { ProcessWorld } from '../process-world.ts'
import { openSealing, type RawSealingOptions, type SealingChoice } from '../sealing-choice.ts'
import { openStore, type StoreChoice, storeName } from '../store-choice.ts'

/** As commander gives them; the same of every `sessions` command. */
export type PlaceOptions = RawSealingOptions & { sessionDir?: string; store?: string; json?: boolean }

/** `root`: the folder of the sessions, or what names the store to people. */
export type Place = { root: string; kind: StoreChoice['kind']; store: SessionStore; sealing: Sealing | null }
export type Found = Place & { id: SessionId }

const MAX_CANDIDATES = 5
const SEGMENT = /^\d{6,9}\.jsonl$/

/** Where and how sessions are kept, out of flags, variables and defaults. */
export function chosen(raw: PlaceOptions, world: ProcessWorld): AgentOptions {
  const { sessionDir, store, dekFile, oldDekFile, tenant } = raw
  return agentOptions(
    {
      ...(sessionDir === undefined ? {} : { sessionDir }),
      ...(store === undefined ? {} : { store }),
      ...(dekFile === undefined ? {} : { dekFile }),
      ...(oldDekFile === undefined ? {} : { oldDekFile }),
      ...(tenant === undefined ? {} : { tenant }),
    },
    world,
  )
}

async function placeOf(raw: PlaceOptions, world: ProcessWorld): Promise<Place> {
  const { store, sessionDir, sealing } = chosen(raw, world)
  return placeAt(store, sessionDir, sealing, world)
}

async function placeAt(
  choice: StoreChoice,
  sessionDir: string,
  keys: SealingChoice | null,
  world: ProcessWorld,
): Promise<Place> {
  const root = storeName(choice, sessionDir)
  const sealing = keys && (await openSealing(keys, world))
  return { root, kind: choice.kind, store: openStore(choice, sessionDir, world, sealing), sealing }
}

/** Runs `use` with the session that `name` means; its store is closed after. Throws `no_session`, `ambiguous_session`. */
export async function withSession<T>(
  name: string,
  raw: PlaceOptions,
  world: ProcessWorld,
  use: (found: Found) => Promise<T>,
): Promise<T> {
  const place = await placeNamed(name, raw, world)
  try {
    return await use('id' in place ? place : { ...place, id: await sessionNamed(name, place) })
  } finally {
    await place.store.close()
  }
}

/** Runs `use` with the store; it is closed after. */
export async function withPlace<T>(
  raw: PlaceOptions,
  world: ProcessWorld,
  use: (place: Place) => Promise<T>,
): Promise<T> {
  const place = await placeOf(raw, world)
  try {
    return await use(place)
  } finally {
    await place.store.close()
  }
}

async function placeNamed(name: string, raw: PlaceOptions, world: ProcessWorld): Promise<Place | Found> {
  if (!name.includes('/')) return placeOf(raw, world)
  const path = resolve(world.cwd, name)
  const folder = SEGMENT.test(basename(path)) ? dirname(path) : path
  const id = basename(folder)
  if (!isSessionId(id) || !(await isFolder(folder))) throw fail('no_log', { path })
  return { ...(await placeAt({ kind: 'files' }, dirname(folder), chosen(raw, world).sealing, world)), id }
}

async function sessionNamed(name: string, { root, store }: Place): Promise<SessionId> {
  if (isSessionId(name) && (await store.exists(name))) return name
  const { rows } = await store.list({ text: name, limit: 200 })
  const found = name === '' ? [] : rows.filter(row => row.id.startsWith(name))
  const [only] = found
  if (only && found.length === 1) return only.id
  if (!only)
    throw fail('no_session', {
      id: name === '' ? "''" : name,
      place: root,
      see: `agent sessions list --all${nearby(rows)}`,
    })
  const shown = found.slice(0, MAX_CANDIDATES).map(titled).join(', ')
  const more = found.length > MAX_CANDIDATES ? ` and ${found.length - MAX_CANDIDATES} more` : ''
  throw fail('ambiguous_session', { id: name, candidates: shown + more })
}

/** What the name is a part of elsewhere, such as in a title. */
function nearby(rows: readonly SessionRow[]): string {
  const shown = rows.slice(0, MAX_CANDIDATES).map(titled)
  return shown.length === 0 ? '' : `. Perhaps ${shown.join(', ')}`
}

const titled = (row: SessionRow) => (row.title === '' ? row.id : `${row.id} "${row.title}"`)

async function isFolder(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory()
  } catch {
    return false // what can not be looked at is no place of a log either
  }
}

/** The folder of a session's segments. Throws `not_for_store` where a session has none. */
export function folderOf({ root, kind, id }: Found): string {
  if (kind !== 'files') throw fail('not_for_store', { kind })
  return join(root, id)
}
