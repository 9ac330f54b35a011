/** Folds records to a `SessionState`, one after the other or all at once. Pure: the same records, the same state. */
import {
  asCallId,
  asEntryId,
  type BranchBody,
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
import type { CallState, ContextEntry, Entry, Run, SessionState } from './state.ts'
import type { Damage } from './store.ts'
import { createPlaces, entryId } from './tree/places.ts'

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
type Node = { id: EntryId; seq: number } & (
  | { kind: 'prompt'; body: PromptBody }
  | { kind: 'message'; body: MessageBody }
  | { kind: 'compaction'; body: CompactionBody }
  | { kind: 'branch'; body: BranchBody }
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
  const places = createPlaces()
  const nodes = new Map<string, Node>()
  const settings = new Map<string, unknown>()
  const labels = new Map<string, string>()
  const started = new Map<string, ToolStartedBody>()
  const finished = new Map<string, ToolFinishedBody>()
  const runs = new Map<EntryId, RunState>()
  const keys = new Map<string, EntryId>()
  const damage: Damage[] = []
  let usage = NO_USAGE
  let newestRun: RunState | null = null
  let known: SessionState | null = null

  function add(node: Node, parent: string | null): void {
    places.add(node.id, entryId(parent))
    nodes.set(node.id, node)
  }

  function prompt(body: PromptBody, seq: number): void {
    const id = asEntryId(body.id)
    const node: Node = { kind: 'prompt', id, seq, body }
    add(node, body.parent_id)
    const idempotencyKey = body.idempotency_key ?? null
    newestRun = { id, promptSeq: seq, idempotencyKey, end: null, steps: 0, last: node }
    runs.set(id, newestRun)
    // The first prompt with a key is the run that a repeated one is answered with.
    if (idempotencyKey !== null && !keys.has(idempotencyKey)) keys.set(idempotencyKey, id)
  }

  function message(body: MessageBody, seq: number): void {
    const node: Node = { kind: 'message', id: asEntryId(body.id), seq, body }
    add(node, body.parent_id)
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
        add({ kind: 'compaction', id: asEntryId(record.id), seq, body: record }, record.parent_id)
        return
      case 'branch':
        add({ kind: 'branch', id: asEntryId(record.id), seq, body: record }, record.target_id)
        return
      case 'leaf':
        places.move(record.target_id)
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

  function entryAt(node: Node): Entry[] {
    if (node.kind === 'prompt') return [{ kind: 'prompt', id: node.id, seq: node.seq, body: node.body }]
    if (node.kind !== 'message') return []
    return [{ kind: 'message', id: node.id, seq: node.seq, body: node.body, calls: callsOf(node.body) }]
  }

  function openRun(): SessionState['openRun'] {
    if (!newestRun || newestRun.end) return null
    const { last, ...run } = newestRun
    const calls = last.kind === 'message' ? callsOf(last.body) : []
    return { ...run, resume: resumePoint(last, calls) }
  }

  function build(): SessionState {
    const path = places.path(places.leaf).flatMap(id => nodes.get(id) ?? [])
    return {
      session,
      settings: new Map(settings),
      entries: path.flatMap(entryAt),
      context: contextOf(path, entryAt),
      leaf: places.leaf,
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

/** The newest compaction that still fits its branch stands for what it folded; others are told by it. */
function contextOf(path: readonly Node[], entryAt: (node: Node) => Entry[]): ContextEntry[] {
  const { summary, from } = foldOf(path)
  const rest = path.slice(from).flatMap((node): ContextEntry[] => {
    if (node.kind !== 'branch') return entryAt(node)
    const { id, seq, body } = node
    return body.summary === undefined ? [] : [{ kind: 'summary', of: 'branch', id, seq, text: body.summary }]
  })
  return [...summary, ...rest]
}

function foldOf(path: readonly Node[]): { summary: ContextEntry[]; from: number } {
  for (const [index, node] of [...path.entries()].reverse()) {
    if (node.kind !== 'compaction') continue
    const { id, seq, body } = node
    const from = body.folded_to === null ? index : path.findIndex(one => one.id === body.folded_to)
    // Damage took the entry where it ends: what is left of the history is told whole, an older one may still hold.
    if (from < 0 || from > index) continue
    return { summary: [{ kind: 'summary', of: 'compaction', id, seq, text: body.summary }], from }
  }
  return { summary: [], from: 0 }
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
