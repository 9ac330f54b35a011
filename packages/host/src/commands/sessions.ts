/** Commands about sessions beside the one that is addressed. What they list is metadata, never what was said. */
import { type CommandOf, isSessionId, LIST_LIMIT, MAX_LIST_LIMIT, newSessionId } from '@beige/protocol'
import { forkBodies, forkSession, type SessionRow } from '@beige/sessions'
import { fail } from '../errors.ts'
import type { SessionHost } from '../host.ts'
import type { LiveSession } from '../live-session.ts'
import { abort } from './abort.ts'
import type { Handler } from './handler.ts'
import { placeOf, treeOf } from './history.ts'

const MAX_CANDIDATES = 10
const SCAN_PAGE = 500

type Page = Pick<CommandOf<'list_sessions'>, 'query' | 'limit' | 'offset'>

/** Of one directory, or of all where `cwd` is null. */
export async function listPage(host: SessionHost, page: Page, cwd: string | null) {
  const { rows, total } = await host.store.list({
    ...(cwd === null ? {} : { cwd }),
    ...(page.query === undefined ? {} : { text: page.query }),
    limit: Math.min(page.limit ?? LIST_LIMIT, MAX_LIST_LIMIT),
    offset: page.offset ?? 0,
  })
  return { sessions: rows.map(row => shownRow(host, row)), total }
}

function shownRow(host: SessionHost, row: SessionRow): Record<string, unknown> {
  return {
    id: row.id,
    title: row.title,
    cwd: row.cwd,
    model: row.model,
    created_at: row.createdAt,
    updated_at: row.updatedAt,
    message_count: row.messageCount,
    ...(row.parent === undefined ? {} : { parent: row.parent }),
    live: host.live().some(live => live.id === row.id),
  }
}

export const list: Handler<'list_sessions'> = (command, { live }) =>
  listPage(live.host, command, live.session.state().session.cwd)
export const listAll: Handler<'list_all_sessions'> = (command, { live }) => listPage(live.host, command, null)

/** Those of this process, also where their store does not list them, then those on disk. */
export async function daemonSessions(host: SessionHost) {
  const { rows } = await host.store.list({ limit: MAX_LIST_LIMIT })
  const known = new Set(rows.map(row => row.id))
  const unlisted = host.live().filter(live => !known.has(live.id))
  return {
    sessions: [
      ...unlisted.map(live => ({ id: live.id, title: '', live: true })),
      ...rows.map(row => shownRow(host, row)),
    ],
  }
}
export const listDaemon: Handler<'list_daemon_sessions'> = (_command, { live }) => daemonSessions(live.host)

/** The whole id, or what only one id begins with. */
async function idOf(host: SessionHost, text: string) {
  if (isSessionId(text) && (await host.store.exists(text))) return text
  const { rows } = await host.store.list({ text, limit: SCAN_PAGE })
  const found = rows.map(row => row.id).filter(id => id.startsWith(text))
  const [first] = found
  if (first === undefined) throw fail('not_found', { what: 'session', id: text })
  if (found.length === 1) return first
  const candidates = found.slice(0, MAX_CANDIDATES)
  throw fail('conflict', { reason: `${text} may be ${candidates.join(', ')}`, candidates })
}

export const switchTo: Handler<'switch_session'> = async ({ session_id }, context) => {
  const { live, connection } = context
  if (!connection)
    throw fail('unsupported', { command: 'switch_session', reason: 'this connection can not move' })
  const id = await idOf(live.host, session_id)
  await abort(live)
  context.answer({ type: 'response', ...context.names, success: true, data: { session_id: id } })
  if (id !== live.id) await connection.moveTo(id)
  return null
}

/** Copies the way to a place to a new session, and moves the connection there where it can move. */
export const fork: Handler<'fork'> = async (command, context) => {
  const key = command.idempotency_key
  const { live } = context
  const known = key === undefined ? undefined : forkOfKey(live, key)
  if (known !== undefined) return moved(context, known)
  const tree = treeOf(live)
  const point = placeOf(tree, command)
  await abort(live)
  return moved(context, await copied(live, tree, point, key))
}

export const clone: Handler<'clone'> = (command, context) => fork({ ...command, type: 'fork' }, context)

const FORK_KIND = 'beige.fork'

async function copied(
  live: LiveSession,
  tree: ReturnType<typeof treeOf>,
  point: ReturnType<typeof placeOf>,
  key: string | undefined,
): Promise<string> {
  const id = newSessionId(live.clock, live.random)
  const log = await forkSession({ store: live.host.store, tree, id, point })
  await log.close()
  if (key !== undefined) {
    await live.session.append({ type: 'custom', kind: FORK_KIND, data: { key, session_id: id } })
  }
  return id
}

function forkOfKey(live: LiveSession, key: string): string | undefined {
  for (const record of live.session.log.records) {
    if (record.type !== 'custom' || record.kind !== FORK_KIND) continue
    const { data } = record
    if (typeof data !== 'object' || data === null || !('key' in data) || data.key !== key) continue
    if ('session_id' in data && typeof data.session_id === 'string') return data.session_id
  }
  return undefined
}

async function moved(
  context: Parameters<typeof fork>[1],
  id: string,
): Promise<Record<string, unknown> | null> {
  const { connection } = context
  if (!connection) return { session_id: id, switched: false }
  context.answer({
    type: 'response',
    ...context.names,
    success: true,
    data: { session_id: id, switched: true },
  })
  await connection.moveTo(id)
  return null
}

/** It keeps its id and its log: what was said goes to a sibling, and the branch begins anew. */
export const fresh: Handler<'new_session'> = async (_command, { live }) => {
  await abort(live)
  const tree = treeOf(live)
  const hasHistory = forkBodies(tree, tree.leaf).length > 0
  const parent = hasHistory ? await copied(live, tree, tree.leaf, undefined) : null
  await live.session.append({ type: 'leaf', target_id: null })
  return { session_id: live.id, parent }
}

export const remove: Handler<'delete_session'> = async ({ session_id }, { live }) => {
  const { host } = live
  if (session_id === live.id) throw fail('conflict', { reason: 'this connection is at that session' })
  if (!isSessionId(session_id)) throw fail('not_found', { what: 'session', id: session_id })
  const other = host.live().find(one => one.id === session_id)
  if (other?.run) throw fail('busy', { run_id: other.run.id })
  if (other && other.frames.attachments.size > 0)
    throw fail('conflict', { reason: 'somebody looks at that session' })
  await host.release(session_id, new DOMException('deleted', 'AbortError'))
  const isThere = await host.store.exists(session_id)
  if (isThere) await host.store.remove(session_id)
  return { session_id, removed: isThere }
}

export async function trashOf(host: SessionHost) {
  const trash = await host.store.trash()
  return {
    trash: trash.map(({ id, deletedAt, place }) => ({ id, deleted_at: deletedAt, original_path: place })),
  }
}
export const trash: Handler<'list_trash'> = (_command, { live }) => trashOf(live.host)

export const restore: Handler<'restore_session'> = async ({ session_id }, { live }) => {
  if (!isSessionId(session_id)) throw fail('not_found', { what: 'session', id: session_id })
  await live.host.store.restore(session_id)
  return { session_id }
}
