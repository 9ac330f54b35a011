/** The branches of a session, the ways to another one, and what held there. Pure: a caller appends the bodies. */
import type { EntryId, RecordBody, ResultBlock, SessionRecord } from '@beige/protocol'
import { fail } from '../errors.ts'
import { besidePath, type EntryNode, type SessionTree } from './session-tree.ts'

export const MAX_PREVIEW_CHARS = 120
export const MAX_LABEL_CHARS = 200

export type Branch = {
  /** Its newest entry. */
  leafId: EntryId
  rootId: EntryId
  /** Prompts and messages from root to leaf. */
  messages: number
  /** The beginning of the newest thing that a person said on it. */
  preview: string
  updatedAt: number
}

/** Newest first. */
export function listBranches(tree: SessionTree): Branch[] {
  const tips = [...tree.entries.values()].filter(node => tree.childrenOf(node.id).length === 0)
  const branches = tips.map((tip): Branch => {
    const path = tree.pathTo(tip.id)
    const said = path.findLast(node => textOf(node.record) !== null)
    return {
      leafId: tip.id,
      rootId: path[0]?.id ?? tip.id,
      messages: path.filter(isMessage).length,
      preview: cut(said ? (textOf(said.record) ?? '') : '', MAX_PREVIEW_CHARS),
      updatedAt: tip.record.at,
    }
  })
  return branches.sort((a, b) => b.updatedAt - a.updatedAt)
}

/** Every turn of a person, on every branch, in the order they were said. */
export function userTurns(tree: SessionTree): { entryId: EntryId; text: string }[] {
  return [...tree.entries.values()].flatMap(node => {
    const text = textOf(node.record)
    return text === null ? [] : [{ entryId: node.id, text }]
  })
}

/** `before`: the entry that `targetId` hangs below, so that it can be said anew. Throws `unknown_id`. */
export function pointOf(tree: SessionTree, targetId: string, before = false): EntryId | null {
  const node = tree.entries.get(targetId)
  if (!node) throw fail('unknown_id', { id: targetId })
  return before ? node.parentId : node.id
}

/** The newest value of each setting as it was at `point`; the model of the first record is among them. */
export function settingsAt(tree: SessionTree, point: string | null): ReadonlyMap<string, unknown> {
  const settings = new Map<string, unknown>()
  const { model } = tree.session ?? {}
  if (model !== undefined) settings.set('model', model)
  for (const { record } of besidePath(tree, tree.pathTo(point))) {
    if (record.type === 'setting') settings.set(record.name, record.value)
  }
  return settings
}

/** Settings that belong to a branch; the others are the session's. */
const OF_A_BRANCH = ['model', 'thinking', 'reasoning_effort'] as const

/**
 * The records that go to another place of the tree. With a `summary` of what is left behind they begin a branch there,
 * which is told that summary; settings of the place are set again where they differ now.
 */
export function switchBodies(
  tree: SessionTree,
  point: EntryId | null,
  told?: { summary: string; id: EntryId },
): RecordBody[] {
  const [there, now] = [settingsAt(tree, point), settingsAt(tree, tree.leaf)]
  const move: RecordBody = told
    ? { type: 'branch', id: told.id, target_id: point, summary: told.summary }
    : { type: 'leaf', target_id: point }
  const settings = OF_A_BRANCH.flatMap((name): RecordBody[] => {
    const value = there.get(name) ?? null
    return isSame(value, now.get(name) ?? null) ? [] : [{ type: 'setting', name, value }]
  })
  return [move, ...settings]
}

/** What the way from the present leaf to `point` leaves behind, oldest first: what a summary has to tell. */
export function leftBehind(tree: SessionTree, point: EntryId | null): readonly EntryNode[] {
  const kept = new Set(tree.pathTo(point).map(node => node.id))
  return tree.pathTo(tree.leaf).filter(node => !kept.has(node.id))
}

/** One line; blank or absent takes the label away. Throws `unknown_id`. */
export function labelBody(tree: SessionTree, targetId: string, label?: string): RecordBody {
  const target_id = pointOf(tree, targetId) ?? targetId
  const text = cut(label ?? '', MAX_LABEL_CHARS)
  return text === '' ? { type: 'label', target_id } : { type: 'label', target_id, label: text }
}

export function isMessage(node: EntryNode): boolean {
  return node.record.type === 'prompt' || node.record.type === 'message'
}

/** Null of what no person said. */
function textOf(record: SessionRecord): string | null {
  if (record.type === 'prompt') return joined(record.message)
  if (record.type !== 'message' || record.role !== 'user') return null
  return joined(record.content.filter(block => block.type === 'text' || block.type === 'image'))
}

function joined(blocks: readonly ResultBlock[]): string {
  return blocks.map(block => (block.type === 'text' ? block.text : '[image]')).join('\n')
}

function cut(text: string, maxChars: number): string {
  const line = text.replace(/[\s\p{Cc}]+/gu, ' ').trim()
  const chars = [...line]
  return chars.length <= maxChars ? line : `${chars.slice(0, maxChars - 1).join('')}…`
}

function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}
