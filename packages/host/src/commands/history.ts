/** Commands that look at the tree of a session, and name or mark things in it. */
import { asEntryId, type CommandOf } from '@beige/protocol'
import {
  forkBodies,
  forkPoint,
  labelBody,
  listBranches,
  nodesSince,
  pointOf,
  readTree,
  type SessionTree,
  settingsAt,
  switchBodies,
  userTurns,
} from '@beige/sessions'
import { fail } from '../errors.ts'
import type { LiveSession } from '../live-session.ts'
import { runSummary } from '../run-summary.ts'
import { titleOf } from './get-state.ts'
import type { Handler } from './handler.ts'
import { runOfKey } from './start-run.ts'

const HOSTS_OWN = /^(mcp_|beige\.)/
const DAY_MS = 86_400_000

export const treeOf = (live: LiveSession): SessionTree => readTree(live.session.log.records)

export const getTree: Handler<'get_tree'> = ({ since }, { live }) => {
  const tree = treeOf(live)
  const nodes = nodesSince(tree, since).map(({ id, parentId, record }) => ({
    id,
    parent_id: parentId,
    record,
  }))
  return { nodes, leaf_id: tree.leaf }
}

export const branches: Handler<'list_branches'> = (_command, { live }) => ({
  branches: listBranches(treeOf(live)).map(({ leafId, rootId, messages, preview, updatedAt }) => ({
    ...{ leaf_id: leafId, root_id: rootId, messages, preview, updated_at: updatedAt },
  })),
})

export const forkMessages: Handler<'get_fork_messages'> = (_command, { live }) => ({
  messages: userTurns(treeOf(live)).map(({ entryId, text }) => ({ entry_id: entryId, text })),
})

export function placeOf(
  tree: SessionTree,
  { upto, target_id, before = false }: Pick<CommandOf<'fork'>, 'upto' | 'target_id' | 'before'>,
) {
  return forkPoint(tree, {
    before,
    ...(target_id === undefined ? {} : { targetId: target_id }),
    ...(upto === undefined ? {} : { upto }),
  })
}

export const previewFork: Handler<'preview_fork'> = async (command, { live }) => {
  const { session_id: other } = command
  if (other !== undefined && other !== live.id) {
    throw fail('unsupported', { command: 'preview_fork', reason: 'connect to that session first' })
  }
  const tree = treeOf(live)
  const point = placeOf(tree, command)
  const bodies = forkBodies(tree, point)
  const turns = bodies.filter(body => body.type === 'prompt' || body.type === 'message').length
  return { leaf_id: point, records: bodies.length, messages: turns, title: titleOf(live) }
}

export const switchBranch: Handler<'switch_branch'> = async (command, { live }) => {
  const tree = treeOf(live)
  const point = pointOf(tree, command.target_id, command.before ?? false)
  if (command.summarize === true) {
    throw fail('unsupported', { command: 'summarize', reason: 'nothing here writes summaries yet' })
  }
  await live.session.append(...switchBodies(tree, point))
  const there = settingsAt(tree, point)
  return {
    target_id: point,
    model: there.get('model') ?? live.settings.modelName,
    reasoning_effort: there.get('reasoning_effort') ?? null,
  }
}

export const setLabel: Handler<'set_label'> = async ({ target_id, label }, { live }) => {
  await live.session.append(labelBody(treeOf(live), target_id, label))
  return { label: live.session.state().labels.get(target_id) ?? null }
}

export const getLabel: Handler<'get_label'> = ({ target_id }, { live }) => {
  pointOf(treeOf(live), target_id) // throws `unknown_id`
  return { label: live.session.state().labels.get(target_id) ?? null }
}

export const appendCustom: Handler<'append_custom'> = async ({ kind, data }, { live }) => {
  if (HOSTS_OWN.test(kind))
    throw fail('forbidden', { command: 'append_custom', reason: `${kind} is the host's` })
  const [record] = await live.session.append({
    type: 'custom',
    kind,
    ...(data === undefined ? {} : { data }),
  })
  return { id: `#${record?.seq ?? 0}` }
}

export const setName: Handler<'set_session_name'> = async ({ title }, { live, viewer }) => {
  const plain = title.replace(/[\r\n]+/g, ' ').trim()
  await live.session.append({ type: 'setting', name: 'title', value: plain })
  const shown = titleOf(live)
  live.frames.numbered({ type: 'session_info_changed', title: shown, ...live.originOf(viewer) })
  return { title: shown }
}

export const lastText: Handler<'get_last_assistant_text'> = (_command, { live }) => {
  const entry = live.session
    .state()
    .entries.findLast(one => one.kind === 'message' && one.body.role === 'assistant')
  if (entry?.kind !== 'message') return { text: null }
  return { text: entry.body.content.map(block => (block.type === 'text' ? block.text : '')).join('') }
}

export const todos: Handler<'get_todos'> = (_command, { live }) => ({
  todos: live.session.state().compaction?.todos ?? null,
})

export const getRun: Handler<'get_run'> = async (command, { live }) => {
  const { wait_ms = 0 } = command
  const id = command.run_id ?? (await runOfKey(live, command.idempotency_key))
  const queued = command.idempotency_key === undefined ? undefined : live.lanes.byKey(command.idempotency_key)
  if (id === undefined && queued) return { run_id: null, queue_id: queued.queue_id, state: 'queued' }
  const runId = asEntryId(id ?? '')
  if (live.run?.id === runId && wait_ms > 0) await endOrLater(live, wait_ms)
  const run = live.session.state().runs.get(runId)
  if (!run) throw fail('not_found', { what: 'run', id: runId })
  const summary = runSummary(live.session.state(), runId)
  const at = (seq: number | undefined) =>
    live.session.log.records.find(record => record.seq === seq)?.at ?? null
  const end = live.session.log.records.findLast(
    record => record.type === 'run_end' && record.run_id === runId,
  )
  return {
    run_id: runId,
    state: run.end?.outcome ?? 'running',
    ...(summary && run.end?.outcome === 'done' ? { result: summary } : {}),
    ...(run.end?.error === undefined ? {} : { error: run.end.error, code: run.end.code }),
    started_at: at(run.promptSeq),
    ended_at: end?.at ?? null,
  }
}

async function endOrLater(live: LiveSession, waitMs: number): Promise<void> {
  const over = new AbortController()
  await Promise.race([live.run?.ended.catch(() => {}), live.clock.sleep(waitMs, over.signal)]).finally(() =>
    over.abort(),
  )
}

export const stats: Handler<'get_session_stats'> = (_command, { live }) => {
  const { entries, usage, session } = live.session.state()
  const messages = entries.flatMap(entry => (entry.kind === 'message' ? [entry] : []))
  const assistant = messages.filter(entry => entry.body.role === 'assistant')
  const calls = messages.flatMap(entry => entry.calls)
  const models = new Map<
    string,
    { requests: number; input_tokens: number; output_tokens: number; cost_usd: number }
  >()
  for (const { body } of assistant) {
    const name = body.model ? `${body.model.provider}/${body.model.id}` : 'unknown'
    const sum = models.get(name) ?? { requests: 0, input_tokens: 0, output_tokens: 0, cost_usd: 0 }
    models.set(name, {
      requests: sum.requests + 1,
      input_tokens: sum.input_tokens + (body.usage?.input_tokens ?? 0),
      output_tokens: sum.output_tokens + (body.usage?.output_tokens ?? 0),
      cost_usd: sum.cost_usd + (body.usage?.cost_usd ?? 0),
    })
  }
  const last = assistant.at(-1)?.body.usage
  const used = (last?.input_tokens ?? 0) + (last?.cache_read_tokens ?? 0) + (last?.cache_write_tokens ?? 0)
  const begun = live.session.log.records[0]?.at ?? live.clock.now()
  return {
    session_id: live.id,
    session_file: null,
    cwd: session.cwd,
    steps: assistant.length,
    user_messages: entries.length - assistant.length,
    assistant_messages: assistant.length,
    tool_calls: calls.length,
    tool_results: calls.filter(call => call.finished).length,
    total_messages: entries.length,
    context_usage: { tokens: used, context_window: live.settings.model.contextWindow },
    usage,
    by_model: Object.fromEntries(models),
    days: Math.floor((live.clock.now() - begun) / DAY_MS),
  }
}
