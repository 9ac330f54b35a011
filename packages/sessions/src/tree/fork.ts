/** A fork: the way to one entry as a session of its own, idempotency keys left out. The source is only read. */
import type { EntryId, RecordBody, SessionId, SessionRecord } from '@beige/protocol'
import { fail } from '../errors.ts'
import type { NewSession, SessionLog, SessionStore } from '../store.ts'
import { isMessage, pointOf, settingsAt } from './branches.ts'
import { besidePath, type EntryNode, type SessionTree } from './session-tree.ts'

/**
 * Where a fork ends: at an entry, or behind the first so many messages of the current branch; with neither at the leaf.
 * `before`: in front of that entry.
 */
export type ForkPoint = { targetId?: string; upto?: number; before?: boolean }

/** The entry that a fork ends at; null copies nothing. Throws `unknown_id`. */
export function forkPoint(tree: SessionTree, { targetId, upto, before = false }: ForkPoint): EntryId | null {
  if (targetId !== undefined) return pointOf(tree, targetId, before)
  if (upto === undefined) return before && tree.leaf !== null ? pointOf(tree, tree.leaf, true) : tree.leaf
  const messages = tree.pathTo(tree.leaf).filter(isMessage)
  const last = upto === 0 ? null : messages[upto - 1]
  if (last === undefined) throw fail('unknown_id', { id: `message ${upto}` })
  return last && before ? last.parentId : (last?.id ?? null)
}

/** Records that the fork begins with, behind its `session` record: what it would copy. */
export function forkBodies(tree: SessionTree, point: EntryId | null): RecordBody[] {
  const path = tree.pathTo(point)
  const onPath = new Set<string>(path.map(node => node.id))
  const copied = [...path, ...besidePath(tree, path)]
    .sort((a, b) => a.record.seq - b.record.seq)
    .flatMap(node => (node.isEntry ? entryBody(node) : besideBody(tree, node.record, onPath)))
  return [...copied, ...cutRuns(path, copied), ...labels(tree, path)]
}

/**
 * Makes the session `id` out of the way to `point`. `first` overrides what its first record takes over from the source;
 * a cwd, model and meta of its own are the rule only where it works elsewhere.
 */
export async function forkSession(parts: {
  store: SessionStore
  tree: SessionTree
  id: SessionId
  point: EntryId | null
  first?: Partial<Pick<NewSession, 'cwd' | 'model' | 'title' | 'meta'>>
}): Promise<SessionLog> {
  const { store, tree, id, point, first = {} } = parts
  const { cwd = '', meta, title, id: parent } = tree.session ?? {}
  const model = settingsAt(tree, point).get('model')
  return store.create(
    {
      id,
      cwd,
      ...(parent === undefined ? {} : { parent }),
      ...(typeof model === 'string' ? { model } : {}),
      ...(title === undefined ? {} : { title }),
      ...(meta === undefined ? {} : { meta }),
      ...first,
    },
    ...forkBodies(tree, point),
  )
}

/** The parent is where the entry really hangs; damage may have taken the one that it names. */
function entryBody({ record, parentId }: EntryNode): RecordBody[] {
  switch (record.type) {
    case 'prompt': {
      const { idempotency_key: _, ...body } = bodyOf(record)
      return [{ ...body, parent_id: parentId }]
    }
    case 'message':
      return [{ ...bodyOf(record), parent_id: parentId }]
    case 'compaction':
      return [{ ...bodyOf(record), parent_id: parentId }]
    case 'branch':
      return [{ ...bodyOf(record), target_id: parentId }]
    default:
      return []
  }
}

/** Of the host's own records only what the model was told: queues, jobs and sandboxes are the source's. */
const TOLD_KINDS: ReadonlySet<string> = new Set(['beige.notice', 'beige.mask'])
const HOST_KINDS = /^(mcp_|beige\.)/
/** Where its hands are is never handed on. */
const OF_THE_SOURCE = /^exec/

function besideBody(tree: SessionTree, record: SessionRecord, onPath: ReadonlySet<string>): RecordBody[] {
  switch (record.type) {
    case 'tool_started': {
      const { job: _, ...body } = bodyOf(record)
      return [body]
    }
    case 'tool_finished':
      return [bodyOf(record)]
    case 'run_end':
      return onPath.has(record.run_id) ? [bodyOf(record)] : []
    case 'setting':
      return OF_THE_SOURCE.test(record.name) ? [] : [bodyOf(record)]
    case 'custom':
      return TOLD_KINDS.has(record.kind) || !HOST_KINDS.test(record.kind) ? [bodyOf(record)] : []
    case 'damage': {
      // The numbers are the source's, and must not be taken for such of the copy.
      const { seqs = [], segment, reason = 'unreadable', ...body } = bodyOf(record)
      const lost = seqs.length > 0 ? `, ${seqs.length} records missing` : ''
      const source = tree.session ? `${tree.session.id}/` : ''
      return [{ ...body, segment: `${source}${segment}`, reason: `${reason}${lost}` }]
    }
    default:
      return [] // labels come last; the others are of another version, or about the place of the source's leaf
  }
}

/** Runs that the point cuts off end here: nobody is to go on with them in the copy. */
function cutRuns(path: readonly EntryNode[], copied: readonly RecordBody[]): RecordBody[] {
  const ended = new Set(copied.flatMap(body => (body.type === 'run_end' ? [body.run_id] : [])))
  return path.flatMap(({ record }, index): RecordBody[] => {
    if (record.type !== 'prompt' || ended.has(record.id)) return []
    const rest = path.slice(index + 1)
    const next = rest.findIndex(node => node.record.type === 'prompt')
    const run = next < 0 ? rest : rest.slice(0, next)
    const steps = run.filter(
      node => node.record.type === 'message' && node.record.role === 'assistant',
    ).length
    return [{ type: 'run_end', run_id: record.id, outcome: 'aborted', code: 'forked', steps }]
  })
}

/** As they are now: also those that were given after the path went on. */
function labels(tree: SessionTree, path: readonly EntryNode[]): RecordBody[] {
  return path.flatMap(({ id }): RecordBody[] => {
    const label = tree.labels.get(id)
    return label === undefined ? [] : [{ type: 'label', target_id: id, label }]
  })
}

type Enveloped = { seq: number; epoch: number; prev: string; at: number }

function bodyOf<T extends Enveloped>(record: T): Omit<T, keyof Enveloped> {
  const { seq: _, epoch: __, prev: ___, at: ____, ...body } = record
  return body
}
