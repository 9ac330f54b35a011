/**
 * Every record of a session as a tree: entries (prompts, messages, compactions, branches) hang below each other, all others
 * stand beside the entry that they concern. Nothing is ever left out, whatever was compacted or left behind. Pure.
 */
import { asEntryId, type EntryId, type SessionBody, type SessionRecord } from '@beige/protocol'
import { fail } from '../errors.ts'
import { createPlaces, entryId, type Places } from './places.ts'

/** Others can hang below it, and a branch can end at it. */
export type EntryNode = { isEntry: true; id: EntryId; parentId: EntryId | null; record: SessionRecord }
/** `id` is `#` and its `seq`; `parentId` the entry that it stands beside. */
export type BesideNode = { isEntry: false; id: string; parentId: EntryId | null; record: SessionRecord }
export type TreeNode = EntryNode | BesideNode

export type SessionTree = {
  /** Null where damage took the first record. */
  session: SessionBody | null
  /** All records, in the order of the log. */
  nodes: readonly TreeNode[]
  entries: ReadonlyMap<string, EntryNode>
  leaf: EntryId | null
  /** By entry id. */
  labels: ReadonlyMap<string, string>
  /** Of entries, oldest first; for null those without a parent. */
  childrenOf(id: EntryId | null): readonly EntryId[]
  /** Entries from the first to `id`, itself included; throws `unknown_id`. */
  pathTo(id: string | null): readonly EntryNode[]
}

export function readTree(records: readonly SessionRecord[]): SessionTree {
  const places = createPlaces()
  const nodes: TreeNode[] = []
  const entries = new Map<string, EntryNode>()
  const children = new Map<EntryId | null, EntryId[]>()
  const labels = new Map<string, string>()
  const callers = new Map<string, EntryId>()
  let session: SessionBody | null = null

  for (const record of records) {
    if (record.type === 'session') session = record
    if (record.type === 'leaf') places.move(record.target_id)
    if (record.type === 'label') setLabel(labels, record)
    const entry = entryOf(record)
    if (!entry) {
      const parentId = besideOf(record, places, callers)
      nodes.push({ isEntry: false, id: `#${record.seq}`, parentId, record })
      continue
    }
    const parentId = places.add(entry.id, entry.parent)
    const node: EntryNode = { isEntry: true, id: entry.id, parentId, record }
    nodes.push(node)
    entries.set(node.id, node)
    children.set(parentId, [...(children.get(parentId) ?? []), entry.id])
    for (const call of callsIn(record)) callers.set(call, entry.id)
  }

  return {
    session,
    nodes,
    entries,
    leaf: places.leaf,
    labels,
    childrenOf: id => children.get(id) ?? [],
    pathTo(id) {
      if (id !== null && !entries.has(id)) throw fail('unknown_id', { id })
      return places.path(entryId(id)).flatMap(one => entries.get(one) ?? [])
    },
  }
}

/** The nodes behind `since`, all of them without it. Throws `unknown_id`. */
export function nodesSince(tree: SessionTree, since?: string): readonly TreeNode[] {
  if (since === undefined) return tree.nodes
  const index = tree.nodes.findIndex(node => node.id === since)
  if (index < 0) throw fail('unknown_id', { id: since })
  return tree.nodes.slice(index + 1)
}

/** What stands beside the entries of `path` and was there before the path went on from each, in the order of the log. */
export function besidePath(tree: SessionTree, path: readonly EntryNode[]): readonly BesideNode[] {
  const until = new Map<string | null, number>()
  for (const [index, node] of [null, ...path].entries()) {
    until.set(node?.id ?? null, path[index]?.record.seq ?? Number.POSITIVE_INFINITY)
  }
  return tree.nodes.flatMap(node =>
    !node.isEntry && node.record.seq < (until.get(node.parentId) ?? 0) ? [node] : [],
  )
}

function entryOf(record: SessionRecord): { id: EntryId; parent: EntryId | null } | null {
  switch (record.type) {
    case 'prompt':
    case 'message':
    case 'compaction':
      return { id: asEntryId(record.id), parent: entryId(record.parent_id) }
    case 'branch':
      return { id: asEntryId(record.id), parent: entryId(record.target_id) }
    default:
      return null
  }
}

function besideOf(
  record: SessionRecord,
  places: Places,
  callers: ReadonlyMap<string, EntryId>,
): EntryId | null {
  switch (record.type) {
    case 'session':
      return null
    case 'tool_started':
    case 'tool_finished':
      return callers.get(record.call_id) ?? places.leaf
    case 'run_end':
      return places.has(record.run_id) ? lastOfRun(record.run_id, places) : places.leaf
    case 'label':
      return places.has(record.target_id) ? entryId(record.target_id) : places.leaf
    default:
      return places.leaf
  }
}

/** A run ends where it stands, unless the leaf has gone elsewhere meanwhile. */
function lastOfRun(runId: string, places: Places): EntryId {
  const run = asEntryId(runId)
  return places.leaf !== null && places.path(places.leaf).includes(run) ? places.leaf : run
}

function callsIn(record: SessionRecord): string[] {
  if (record.type !== 'message') return []
  return record.content.flatMap(block => (block.type === 'tool_call' ? [block.id] : []))
}

function setLabel(labels: Map<string, string>, record: { target_id: string; label?: string }): void {
  if (record.label === undefined) labels.delete(record.target_id)
  else labels.set(record.target_id, record.label)
}
