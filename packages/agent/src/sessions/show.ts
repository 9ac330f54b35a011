/** `agent sessions show`: what a session is, and its current branch as a person reads it. */
import { factsOf, lineOf, plural, subjectOf, tokens, visible } from '@beige/client'
import type { ResultBlock } from '@beige/protocol'
import {
  type CallState,
  type Entry,
  foldSession,
  listBranches,
  readTree,
  rowOf,
  type SessionRow,
  type SessionState,
  type SessionTree,
} from '@beige/sessions'
import type { ProcessWorld } from '../process-world.ts'
import { ago, whole } from './list.ts'
import { type PlaceOptions, withSession } from './place.ts'

export type ShowOptions = PlaceOptions & { limit?: string }

const DEFAULT_WIDTH = 100
const DEFAULT_ENTRIES = 40

export async function showCommand(name: string, raw: ShowOptions, world: ProcessWorld): Promise<number> {
  const limit = whole('--limit', raw.limit, DEFAULT_ENTRIES, 1)
  return withSession(name, raw, world, async ({ id, store }) => {
    const records = await store.read(id)
    const tree = readTree(records)
    const state = foldSession(records)
    const row = rowOf(id, records)
    if (raw.json === true) {
      world.stdout.write(
        `${JSON.stringify({ ...headOf(row, state, tree), nodes: tree.nodes.map(nodeJson) })}\n`,
      )
      return 0
    }
    const width = world.stdout.isTTY === true ? (world.stdout.columns ?? DEFAULT_WIDTH) : DEFAULT_WIDTH
    const entries = state.entries.slice(-limit)
    const left = state.entries.length - entries.length
    const earlier = left > 0 ? [`… ${left} before; all with --limit ${state.entries.length}`, ''] : []
    const text = [
      ...headLines(row, state, tree, world),
      '',
      ...earlier,
      ...entries.flatMap(entry => linesOf(entry, state, width)),
    ].join('\n')
    world.stdout.write(`${visible(text.trimEnd())}\n`)
    return 0
  })
}

function headOf(row: SessionRow, state: SessionState, tree: SessionTree): Record<string, unknown> {
  const { session, usage, leaf, openRun, damage } = state
  const branches = listBranches(tree).map(one => ({
    leaf_id: one.leafId,
    root_id: one.rootId,
    messages: one.messages,
    preview: one.preview,
    updated_at: one.updatedAt,
  }))
  return {
    id: row.id,
    title: row.title,
    cwd: session.cwd,
    model: row.model,
    parent: session.parent,
    leaf_id: leaf,
    open_run: openRun?.id ?? null,
    branches,
    labels: Object.fromEntries(state.labels),
    usage,
    damage,
  }
}

function nodeJson({ id, parentId, record }: SessionTree['nodes'][number]): Record<string, unknown> {
  const { epoch: _, prev: __, ...body } = record
  return { ...body, id, parent_id: parentId }
}

function headLines(
  { id, title, model, createdAt, updatedAt }: SessionRow,
  state: SessionState,
  tree: SessionTree,
  { clock }: ProcessWorld,
): string[] {
  const { session, usage, openRun, damage, labels } = state
  const branches = listBranches(tree)
  const lines: [string, string][] = [
    ['session', id],
    ['title', title],
    ['directory', session.cwd],
    ['model', model],
    ['made', `${ago(createdAt, clock)}, changed ${ago(updatedAt, clock)}`],
    ['forked from', session.parent ?? ''],
    [
      'used',
      `${tokens(usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens)} in / ${tokens(usage.output_tokens)} out tokens, $${usage.cost_usd.toFixed(4)}`,
    ],
    [
      'branches',
      branches.length > 1
        ? branches
            .map(
              one =>
                `\n  ${one.leafId === state.leaf ? '*' : ' '} ${one.leafId}  ${one.messages}  ${one.preview}`,
            )
            .join('')
        : '',
    ],
    ['labels', [...labels].map(([entry, label]) => `\n    ${entry}  ${label}`).join('')],
    ['run', openRun ? `cut off; go on with: agent run --resume --session-id ${id}` : ''],
    [
      'damage',
      damage.length > 0
        ? `${plural(damage.length, 'part')} could not be read: agent sessions check ${id}`
        : '',
    ],
  ]
  return lines.flatMap(([name, value]) => (value === '' ? [] : [`${`${name}:`.padEnd(13)}${value}`]))
}

function linesOf(entry: Entry, state: SessionState, width: number): string[] {
  const label = state.labels.get(entry.id)
  const mark = label === undefined ? [] : [`[${label}]`]
  if (entry.kind === 'prompt') {
    const end = state.runs.get(entry.id)?.end
    const bad =
      end && end.outcome !== 'done' ? [`  [run ${end.outcome}${end.error ? `: ${end.error}` : ''}]`] : []
    return [...mark, ...indented('> ', textOf(entry.body.message)), ...bad, '']
  }
  const said = entry.body.content.flatMap((block): ResultBlock[] =>
    block.type === 'text' || block.type === 'image' ? [block] : [],
  )
  const text = textOf(said)
  const lead = entry.body.role === 'user' ? '> ' : '  '
  return [
    ...mark,
    ...(text.trim() === '' ? [] : indented(lead, text)),
    ...entry.calls.map(call => `    ${callLine(call, width)}`),
    '',
  ]
}

function callLine(call: CallState, width: number): string {
  const { name, input, finished } = call
  const outputBytes = (finished?.content ?? []).reduce(
    (sum, block) => sum + (block.type === 'text' ? Buffer.byteLength(block.text) : block.data.length),
    0,
  )
  const end = {
    ms: null,
    isError: finished?.is_error ?? true,
    outcome: finished?.outcome ?? 'unknown',
    outputBytes,
  }
  const facts = finished ? factsOf(finished.details ?? {}, end) : call.started ? 'no result' : 'did not start'
  return lineOf({ name, subject: subjectOf(input), facts }, width)
}

function textOf(blocks: readonly ResultBlock[]): string {
  return blocks.map(block => (block.type === 'text' ? block.text : `[image ${block.media_type}]`)).join('\n')
}

function indented(lead: string, text: string): string[] {
  return text
    .trimEnd()
    .split('\n')
    .map((line, index) => (index === 0 ? lead : '  ') + line)
}
