/**
 * Which session a key is: `<channel>:<id>[:<id>]` → session id. The file is an index; the truth is the `meta` of each
 * session's first record, so a missing or damaged index is made anew from the logs (H08).
 */
import { type Clock, isError, isSessionId, newSessionId, type Random, type SessionId } from '@beige/protocol'
import type { SessionStore } from '@beige/sessions'
import { compile, int, map, obj, str } from '@earendil-works/pi-schema'
import { fail } from '../errors.ts'
import { readJsonFile, writeJsonFile } from '../home/json-file.ts'

const PAGE = 200
const MAX_KEY_CHARS = 256

const indexFile = compile(
  obj({ version: int({ minimum: 1, maximum: 1 }), keys: map(obj({ agent: str(), id: str() })) }),
)

export interface SessionKeys {
  /** The session of a key, given out and written down before it is made. A key of another agent is `bad_request`. */
  idOf(agent: string, key: string): SessionId
  /** Null where the key names no session yet. */
  find(key: string): { agent: string; id: SessionId } | null
}

export async function openSessionKeys(parts: {
  path: string
  /** By agent. */
  stores: ReadonlyMap<string, SessionStore>
  clock: Clock
  random: Random
  log(text: string): void
}): Promise<SessionKeys> {
  const { path, clock, random } = parts
  const keys = await load(parts)
  const save = () => writeJsonFile(path, { version: 1, keys: Object.fromEntries(keys) })
  return {
    idOf(agent, key) {
      checkKey(key)
      const known = keys.get(key)
      if (known) {
        if (known.agent !== agent)
          throw fail('bad_request', { reason: `session key "${key}" belongs to agent "${known.agent}"` })
        return known.id
      }
      const id = newSessionId(clock, random)
      keys.set(key, { agent, id })
      try {
        save()
      } catch (error) {
        keys.delete(key)
        throw error
      }
      return id
    },
    find: key => keys.get(key) ?? null,
  }
}

function checkKey(key: string): void {
  if (
    key.length === 0 ||
    key.length > MAX_KEY_CHARS ||
    !/^[A-Za-z0-9._~%-]+(:[A-Za-z0-9._~%-]+){1,4}$/.test(key)
  )
    throw fail('bad_request', {
      reason: `a session key is channel:id[:id] of at most ${MAX_KEY_CHARS} characters, other characters percent-encoded`,
    })
}

type Index = Map<string, { agent: string; id: SessionId }>

async function load(parts: Parameters<typeof openSessionKeys>[0]): Promise<Index> {
  try {
    const file = readJsonFile(parts.path, indexFile, null, parts.clock.now())
    if (file !== null) {
      const index: Index = new Map()
      for (const [key, { agent, id }] of Object.entries(file.keys))
        if (isSessionId(id) && parts.stores.has(agent)) index.set(key, { agent, id })
      return index
    }
  } catch (error) {
    if (!isError(error, 'file_damaged')) throw error
    parts.log(`${error.message}; the index is made anew from the logs`)
  }
  return rebuilt(parts.stores)
}

/** Newest first, so that a key that was moved on names its newest session. */
async function rebuilt(stores: ReadonlyMap<string, SessionStore>): Promise<Index> {
  const index: Index = new Map()
  for (const [agent, store] of stores) {
    for (let offset = 0; ; offset += PAGE) {
      const { rows } = await store.list({ limit: PAGE, offset })
      for (const row of rows) {
        const key = row.meta.key
        if (typeof key === 'string' && !index.has(key)) index.set(key, { agent, id: row.id })
      }
      if (rows.length < PAGE) break
    }
  }
  return index
}
