/** Folds records to a `SessionState`, one after the other or all at once. Pure: the same records, the same state. */
import {
  asCallId,
  asEntryId,
  type CallId,
  type CompactionBody,
  type EntryId,
  type MessageBody,
  type PromptBody,
  SESSION_VERSION,
  type SessionBody,
  type SessionRecord,
  type ToolFinishedBody,
  type ToolStartedBody,
  type Usage,
} from '@beige/protocol'
import { resumePoint } from './resume-point.ts'
import type { CallState, Entry, Run, SessionState } from './state.ts'
import type { Damage } from './store.ts'

export interface Fold {
  apply(record: SessionRecord): void
  /** As of the last `apply`; what it gave before does not change. */
  state(): SessionState
}

export function foldSession(records: readonly SessionRecord[]): SessionState {
  const fold = createFold()
  for (const record of records) fold.apply(record)
  return fold.state()
}

/** One record that has a place in the tree. */
type Node = { id: EntryId; parent: EntryId | null; seq: number } & (
  | { kind: 'prompt'; body: PromptBody }
  | { kind: 'message'; body: MessageBody }
  | { kind: 'compaction'; body: CompactionBody }
  | { kind: 'branch' }
)
type RunState = Run & { steps: number; last: Node }

const NO_USAGE: Usage = {
  input_tokens: 0,
  output_tokens: 0,
  cache_read_tokens: 0,
  cache_write_tokens: 0,
  cost_usd: 0,
}

export function createFold(): Fold {
  let session: SessionBody = { type: 'session', version: SESSION_VERSION, id: '', cwd: '' }
  const nodes = new Map<string, Node>()
  const settings = new Map<string, unknown>()
  const labels = new Map<string, string>()
  const started = new Map<string, ToolStartedBody>()
  const finished = new Map<string, ToolFinishedBody>()
  const runs = new Map<EntryId, RunState>()
  const keys = new Map<string, EntryId>()
  const damage: Damage[] = []
  let leaf: EntryId | null = null
  let usage = NO_USAGE
  let newestNode: Node | null = null
  let newestRun: RunState | null = null
  let known: SessionState | null = null

  function add(node: Node): void {
    // A parent that a damaged record took along: go on from what came before rather than show a short history.
    const isLost = node.parent !== null && !nodes.has(node.parent)
    const placed = isLost ? { ...node, parent: newestNode?.id ?? null } : node
    nodes.set(node.id, placed)
    newestNode = placed
    leaf = node.id
  }

  function prompt(body: PromptBody, seq: number): void {
    const id = asEntryId(body.id)
    const node: Node = { kind: 'prompt', id, parent: entryId(body.parent_id), seq, body }
    add(node)
    const idempotencyKey = body.idempotency_key ?? null
    newestRun = { id, promptSeq: seq, idempotencyKey, end: null, steps: 0, last: node }
    runs.set(id, newestRun)
    // The first prompt with a key is the run that a repeated one is answered with.
    if (idempotencyKey !== null && !keys.has(idempotencyKey)) keys.set(idempotencyKey, id)
  }

  function message(body: MessageBody, seq: number): void {
    const node: Node = { kind: 'message', id: asEntryId(body.id), parent: entryId(body.parent_id), seq, body }
    add(node)
    if (body.usage) usage = sum(usage, body.usage)
    if (!newestRun || newestRun.end) return
    const steps = newestRun.steps + (body.role === 'assistant' ? 1 : 0)
    setRun({ ...newestRun, steps, last: node })
  }

  function setRun(run: RunState): void {
    runs.set(run.id, run)
    if (newestRun?.id === run.id) newestRun = run
  }

  function apply(record: SessionRecord): void {
    known = null
    const { seq } = record
    switch (record.type) {
      case 'session':
        session = record
        return
      case 'prompt':
        prompt(record, seq)
        return
      case 'message':
        message(record, seq)
        return
      case 'tool_started':
        started.set(record.call_id, record)
        return
      case 'tool_finished':
        // The first result is the one that the model was told.
        if (!finished.has(record.call_id)) finished.set(record.call_id, record)
        return
      case 'run_end': {
        const run = runs.get(asEntryId(record.run_id))
        if (run && !run.end) setRun({ ...run, end: record })
        return
      }
      case 'compaction':
        add(compactionNode(record, seq))
        return
      case 'branch':
        add({ kind: 'branch', id: asEntryId(record.id), parent: entryId(record.target_id), seq })
        return
      case 'leaf':
        if (record.target_id === null || nodes.has(record.target_id)) leaf = entryId(record.target_id)
        return
      case 'label':
        if (record.label === undefined) labels.delete(record.target_id)
        else labels.set(record.target_id, record.label)
        return
      case 'setting':
        settings.set(record.name, record.value)
        return
      case 'damage': {
        const { segment, offset, length, seqs = [], reason = 'unreadable' } = record
        damage.push({ segment, offset, length, seqs, reason })
        return
      }
      case 'custom':
      case 'unknown':
        return
      default:
        record satisfies never
    }
  }

  function callsOf(body: MessageBody): CallState[] {
    return body.content.flatMap(block => {
      if (block.type !== 'tool_call') return []
      return [callState(asCallId(block.id), block.name, block.input)]
    })
  }

  function callState(id: CallId, name: string, input: unknown): CallState {
    return { id, name, input, started: started.get(id) ?? null, finished: finished.get(id) ?? null }
  }

  function branch(): Node[] {
    const path: Node[] = []
    // A parent always comes before its child, except in a log that somebody made up: then it ends, too.
    for (let node = leaf === null ? undefined : nodes.get(leaf); node && path.length <= nodes.size; ) {
      path.push(node)
      node = node.parent === null ? undefined : nodes.get(node.parent)
    }
    return path.reverse()
  }

  function openRun(): SessionState['openRun'] {
    if (!newestRun || newestRun.end) return null
    const { last, ...run } = newestRun
    const calls = last.kind === 'message' ? callsOf(last.body) : []
    return { ...run, resume: resumePoint(last, calls) }
  }

  function build(): SessionState {
    const path = branch()
    return {
      session,
      settings: new Map(settings),
      entries: path.flatMap((node): Entry[] => {
        if (node.kind === 'prompt') return [{ kind: 'prompt', id: node.id, seq: node.seq, body: node.body }]
        if (node.kind !== 'message') return []
        return [{ kind: 'message', id: node.id, seq: node.seq, body: node.body, calls: callsOf(node.body) }]
      }),
      leaf,
      runs: new Map([...runs].map(([id, { last: _, steps: __, ...run }]) => [id, run])),
      keys: new Map(keys),
      openRun: openRun(),
      compaction: path.findLast(node => node.kind === 'compaction')?.body ?? null,
      labels: new Map(labels),
      usage,
      damage: [...damage],
    }
  }

  return {
    apply,
    state: () => {
      known ??= build()
      return known
    },
  }
}

function compactionNode(body: CompactionBody, seq: number): Node {
  return { kind: 'compaction', id: asEntryId(body.id), parent: entryId(body.parent_id), seq, body }
}

function entryId(id: string | null): EntryId | null {
  return id === null ? null : asEntryId(id)
}

function sum(a: Usage, b: Usage): Usage {
  return {
    input_tokens: a.input_tokens + b.input_tokens,
    output_tokens: a.output_tokens + b.output_tokens,
    cache_read_tokens: a.cache_read_tokens + b.cache_read_tokens,
    cache_write_tokens: a.cache_write_tokens + b.cache_write_tokens,
    cost_usd: a.cost_usd + b.cost_usd,
  }
}
