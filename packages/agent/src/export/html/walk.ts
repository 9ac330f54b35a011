/**
 * The tree of a session as one column: the current branch in order, what was left as folded parts where it leaves, what a
 * compaction folded likewise, and everything that stands beside an entry behind it.
 */
import type { SessionRecord, ToolFinishedBody } from '@beige/protocol'
import type { EntryNode, SessionState, SessionTree, TreeNode } from '@beige/sessions'
import { blocksHtml, type Call, callHtml, folding, noteHtml, textHtml } from './blocks.ts'
import { element, escaped } from './escape.ts'

const MAX_DEPTH = 40 // of branches in branches; a log that somebody made up must not end the export
const OF_THE_HOST = /^(mcp_|beige\.)/

type View = {
  tree: SessionTree
  /** Without `tool_started` and `tool_finished` of known calls. */
  beside: ReadonlyMap<string | null, readonly SessionRecord[]>
  calls: ReadonlyMap<string, { isStarted: boolean; finished: ToolFinishedBody | null }>
  current: ReadonlySet<string>
}

export function treeHtml(tree: SessionTree, state: SessionState): string {
  const path = tree.pathTo(tree.leaf)
  const view: View = {
    tree,
    beside: besideOf(tree),
    calls: callsOf(tree),
    current: new Set(path.map(node => node.id)),
  }
  const from = foldedUntil(path, state)
  const folded = path.slice(0, from).map(node => stepHtml(view, node, 0))
  const rest = path.slice(from).map(node => stepHtml(view, node, 0))
  const title = `${from} ${from === 1 ? 'entry' : 'entries'} folded by a compaction`
  return [
    ...(view.beside.get(null) ?? []).map(besideHtml),
    otherBranches(view, tree.childrenOf(null), path[0]?.id, 0),
    ...(from > 0 ? [folding('folded', title, element('div', { class: 'in' }, ...folded))] : []),
    ...rest,
  ].join('\n')
}

/** How many entries of the path the compaction that is in force stands for. */
function foldedUntil(path: readonly EntryNode[], { context }: SessionState): number {
  const [first, second] = context
  if (first?.kind !== 'summary' || first.of !== 'compaction') return 0
  const kept = path.findIndex(node => node.id === (second?.id ?? first.id))
  return Math.max(
    0,
    Math.min(
      kept,
      path.findIndex(node => node.id === first.id),
    ),
  )
}

function stepHtml(view: View, node: EntryNode, depth: number): string {
  const children = view.tree.childrenOf(node.id)
  const next = children.find(id => view.current.has(id))
  return [
    entryHtml(view, node),
    ...(view.beside.get(node.id) ?? []).map(besideHtml),
    // Where the current branch ends here, what goes on was left, too.
    otherBranches(view, children, next, depth),
  ].join('\n')
}

function otherBranches(
  view: View,
  children: readonly string[],
  current: string | undefined,
  depth: number,
): string {
  return children
    .filter(id => id !== current)
    .map(id => {
      const line = lineFrom(view, id)
      const inner = line.map(node => branchStep(view, node, line, depth + 1)).join('\n')
      const title = `Another branch: ${line.length} ${line.length === 1 ? 'entry' : 'entries'}`
      return folding('branch', title, element('div', { class: 'in' }, inner))
    })
    .join('\n')
}

/** A branch goes on where it went last. */
function lineFrom(view: View, id: string): EntryNode[] {
  const line: EntryNode[] = []
  const seen = new Set<string>()
  for (
    let at: string | undefined = id;
    at !== undefined && !seen.has(at);
    at = view.tree.childrenOf(line.at(-1)?.id ?? null).at(-1)
  ) {
    const node = view.tree.entries.get(at)
    if (!node) break
    seen.add(at)
    line.push(node)
  }
  return line
}

function branchStep(view: View, node: EntryNode, line: readonly EntryNode[], depth: number): string {
  const inLine = new Set<string>(line.map(one => one.id))
  const children = view.tree.childrenOf(node.id)
  const next = children.findLast(id => inLine.has(id))
  const deeper =
    depth < MAX_DEPTH ? otherBranches(view, children, next, depth) : noteHtml('More branches leave here.')
  return [
    entryHtml(view, node),
    ...(view.beside.get(node.id) ?? []).map(besideHtml),
    children.length > (next === undefined ? 0 : 1) ? deeper : '',
  ].join('\n')
}

function entryHtml({ tree, calls }: View, { id, record }: EntryNode): string {
  const label = tree.labels.get(id)
  const mark = label === undefined ? '' : element('span', { class: 'label' }, escaped(label))
  const head = (who: string, more = '') =>
    element(
      'div',
      { class: 'who' },
      element('b', {}, escaped(who)),
      mark,
      escaped(`${timeText(record.at)}${more}`),
    )
  switch (record.type) {
    case 'prompt': {
      const from = record.origin.kind === 'local' ? '' : ` · ${record.origin.name ?? record.origin.kind}`
      return article('entry prompt', id, head('User', from), blocksHtml(record.message))
    }
    case 'message': {
      const isUser = record.role === 'user'
      const model = record.model && !isUser ? ` · ${record.model.provider}/${record.model.id}` : ''
      const asked = record.content.flatMap(block =>
        block.type === 'tool_call' ? [callHtml(callOf(calls, block))] : [],
      )
      const stopped = stopText(record.stop_reason)
      return article(
        isUser ? 'entry prompt' : 'entry',
        id,
        head(isUser ? 'User' : 'Assistant', model),
        blocksHtml(record.content),
        ...asked,
        stopped === '' ? '' : noteHtml(stopped),
      )
    }
    case 'compaction': {
      const tokens = `${record.tokens_before.toLocaleString('en-US')} to ${record.tokens_after.toLocaleString('en-US')} tokens`
      return article('entry summary', id, head('Compaction', ` · ${tokens}`), textHtml(record.summary))
    }
    case 'branch':
      return record.summary === undefined
        ? article('entry', id, mark)
        : article('entry summary', id, head('Summary of the branch that was left'), textHtml(record.summary))
    default:
      return ''
  }
}

function article(kind: string, id: string, ...inner: readonly string[]): string {
  return element('article', { class: kind, 'data-entry': id }, ...inner)
}

/** How an answer ended, where that is worth a word. */
function stopText(reason: string | undefined): string {
  const texts: Record<string, string> = {
    max_tokens: 'The answer was cut at the output limit.',
    refusal: 'The model refused.',
    aborted: 'Stopped here.',
  }
  return texts[reason ?? ''] ?? ''
}

function callOf(calls: View['calls'], block: { id: string; name: string; input: unknown }): Call {
  const known = calls.get(block.id) ?? { isStarted: false, finished: null }
  return { name: block.name, input: block.input, ...known }
}

function besideHtml(record: SessionRecord): string {
  switch (record.type) {
    case 'setting':
      return noteHtml(`${record.name.replaceAll('_', ' ')}: ${plain(record.value)}`)
    case 'custom':
      return OF_THE_HOST.test(record.kind) ? '' : noteHtml(`${record.kind}: ${plain(record.data)}`)
    case 'run_end': {
      if (record.outcome === 'done') return ''
      const why = record.error ?? record.code ?? ''
      return noteHtml(`Run ${record.outcome}${why === '' ? '' : `: ${why}`}`, record.outcome === 'failed')
    }
    case 'damage':
      return damageHtml(record)
    case 'tool_started':
      return noteHtml(`${record.name} was started; the message that asked for it is lost`)
    case 'tool_finished':
      return callHtml({ name: 'result', input: 'of a call that is lost', isStarted: true, finished: record })
    case 'unknown':
      return noteHtml('A record that this version does not know is here.')
    default:
      return ''
  }
}

function damageHtml(record: Extract<SessionRecord, { type: 'damage' }>): string {
  const { segment, offset, length, seqs = [], reason = 'unreadable' } = record
  const lost = seqs.length > 0 ? `; ${seqs.length} of its records are lost` : ''
  const text = `Damaged: ${length} bytes of ${segment} at byte ${offset} (${reason})${lost}`
  return element('p', { class: 'damage' }, escaped(text))
}

function plain(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
}

export function timeText(at: number): string {
  return new Date(at).toISOString().slice(0, 16).replace('T', ' ')
}

function besideOf(tree: SessionTree): Map<string | null, SessionRecord[]> {
  const called = new Set([...tree.entries.values()].flatMap(callIds))
  const beside = new Map<string | null, SessionRecord[]>()
  const shown = (node: TreeNode) =>
    !node.isEntry && !('call_id' in node.record && called.has(node.record.call_id))
  for (const { parentId, record } of tree.nodes.filter(shown)) {
    beside.set(parentId, [...(beside.get(parentId) ?? []), record])
  }
  return beside
}

function callIds({ record }: EntryNode): string[] {
  if (record.type !== 'message') return []
  return record.content.flatMap(block => (block.type === 'tool_call' ? [block.id] : []))
}

function callsOf(tree: SessionTree): View['calls'] {
  const calls = new Map<string, { isStarted: boolean; finished: ToolFinishedBody | null }>()
  for (const { record } of tree.nodes) {
    if (record.type === 'tool_started') {
      calls.set(record.call_id, { isStarted: true, finished: calls.get(record.call_id)?.finished ?? null })
    } else if (record.type === 'tool_finished') {
      calls.set(record.call_id, { isStarted: true, finished: calls.get(record.call_id)?.finished ?? record })
    }
  }
  return calls
}
