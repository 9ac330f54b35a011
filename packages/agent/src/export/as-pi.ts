/**
 * A session as a file of pi's session format 3, which an unmodified pi opens. Its entries are a chain: what stands beside
 * one of ours, such as a result or a label, is an entry there, and what follows hangs below it.
 */
import type { ContentBlock, SessionId, SessionRecord, Usage } from '@beige/protocol'
import { readTree, rowOf } from '@beige/sessions'

const FORMAT = 3
const OF_THE_HOST = /^(mcp_|beige\.)/
const EFFORTS: ReadonlySet<string> = new Set(['off', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'])
const STOPS: Readonly<Record<string, string>> = {
  tool_use: 'toolUse',
  max_tokens: 'length',
  aborted: 'aborted',
}

type Entry = Record<string, unknown> & { type: string; id: string; parentId: string | null }

export function piLines(id: SessionId, records: readonly SessionRecord[]): string[] {
  const tree = readTree(records)
  const row = rowOf(id, records)
  const entries: Entry[] = []
  /** Of each entry of ours, the one of pi that the next hangs below. */
  const tails = new Map<string | null, string | null>([[null, null]])
  const finished = new Map(
    records.flatMap(record => (record.type === 'tool_finished' ? [[record.call_id, record] as const] : [])),
  )

  function add(
    ours: string | null,
    at: number,
    entry: Record<string, unknown> & { type: string },
    own?: string,
  ): void {
    const parentId = tails.get(ours) ?? null
    const name = own ?? `x_${entries.length + 1}`
    entries.push({ ...entry, id: name, parentId, timestamp: time(at) })
    tails.set(ours, name)
  }

  for (const { id: node, parentId, isEntry, record } of tree.nodes) {
    if (!isEntry) {
      const beside = besideEntry(record)
      if (beside && (record.type !== 'label' || tails.has(record.target_id))) add(parentId, record.at, beside)
      continue
    }
    tails.set(node, tails.get(parentId) ?? null)
    const [entry, ...results] = entriesOf(record, finished, tails.get(parentId) ?? null)
    if (entry) add(node, record.at, entry, node)
    for (const result of results) add(node, record.at, result)
  }
  const isElsewhere = entries.length > 0 && entries.at(-1)?.id !== tails.get(tree.leaf)
  // pi goes on from the last entry of the file.
  if (isElsewhere) add(tree.leaf, row.updatedAt, { type: 'custom', customType: 'beige_leaf' })
  const header = { type: 'session', version: FORMAT, id, timestamp: time(row.createdAt), cwd: row.cwd }
  const named = row.title === '' ? [] : [titleEntry(row.title, entries, row.createdAt)]
  return [header, ...named, ...entries].map(one => JSON.stringify(one))
}

/** First in the file, so that the last entry stays the leaf; beside all others, so that nothing hangs below it. */
function titleEntry(name: string, entries: readonly Entry[], at: number): Entry {
  return {
    type: 'session_info',
    name,
    id: `x_${entries.length + 1}_title`,
    parentId: null,
    timestamp: time(at),
  }
}

function entriesOf(
  record: SessionRecord,
  finished: ReadonlyMap<string, Extract<SessionRecord, { type: 'tool_finished' }>>,
  left: string | null,
): (Record<string, unknown> & { type: string })[] {
  const timestamp = record.at
  switch (record.type) {
    case 'prompt':
      return [{ type: 'message', message: { role: 'user', content: userContent(record.message), timestamp } }]
    case 'message': {
      if (record.role === 'user') {
        return [
          { type: 'message', message: { role: 'user', content: userContent(record.content), timestamp } },
        ]
      }
      const results = record.content.flatMap(block => {
        if (block.type !== 'tool_call') return []
        const result = finished.get(block.id)
        const content = result
          ? userContent(result.content)
          : [{ type: 'text', text: '[no result: it was cut off]' }]
        const isError = result?.is_error ?? true
        const message = { role: 'toolResult', toolCallId: block.id, toolName: block.name, content, isError }
        return [{ type: 'message', message: { ...message, timestamp: result?.at ?? timestamp } }]
      })
      return [{ type: 'message', message: assistant(record) }, ...results]
    }
    case 'compaction': {
      const { summary, folded_to, tokens_before: tokensBefore, id } = record
      const details = { readFiles: record.files_read, modifiedFiles: record.files_modified }
      return [{ type: 'compaction', summary, firstKeptEntryId: folded_to ?? id, tokensBefore, details }]
    }
    case 'branch':
      if (record.summary === undefined) return []
      return [{ type: 'branch_summary', fromId: left ?? 'root', summary: record.summary }]
    default:
      return []
  }
}

function assistant(record: Extract<SessionRecord, { type: 'message' }>): Record<string, unknown> {
  const { model, content, usage, stop_reason = 'end_turn', at } = record
  return {
    role: 'assistant',
    content: content.flatMap(assistantBlock),
    api: model?.api ?? 'unknown',
    provider: model?.provider ?? 'unknown',
    model: model?.id ?? 'unknown',
    ...(record.response_id === undefined ? {} : { responseId: record.response_id }),
    usage: piUsage(usage),
    stopReason: STOPS[stop_reason] ?? 'stop',
    timestamp: at,
  }
}

function assistantBlock(block: ContentBlock): Record<string, unknown>[] {
  switch (block.type) {
    case 'text':
      return [
        { type: 'text', text: block.text, ...(block.signature ? { textSignature: block.signature } : {}) },
      ]
    case 'thinking': {
      const { text: thinking, signature: thinkingSignature, redacted } = block
      return [{ type: 'thinking', thinking, thinkingSignature, redacted }]
    }
    case 'tool_call': {
      const { id, name, input, signature: thoughtSignature } = block
      return [{ type: 'toolCall', id, name, arguments: input, thoughtSignature }]
    }
    case 'image':
      return []
    default:
      return block satisfies never
  }
}

function userContent(blocks: readonly ContentBlock[]): Record<string, unknown>[] {
  return blocks.flatMap((block): Record<string, unknown>[] => {
    if (block.type === 'text') return [{ type: 'text', text: block.text }]
    return block.type === 'image' ? [{ type: 'image', data: block.data, mimeType: block.media_type }] : []
  })
}

function besideEntry(record: SessionRecord): (Record<string, unknown> & { type: string }) | null {
  switch (record.type) {
    case 'setting': {
      const { name, value } = record
      if (typeof value !== 'string') return null
      const slash = value.indexOf('/')
      if (name === 'model' && slash > 0) {
        return { type: 'model_change', provider: value.slice(0, slash), modelId: value.slice(slash + 1) }
      }
      return EFFORTS.has(value) ? { type: 'thinking_level_change', thinkingLevel: value } : null
    }
    case 'label':
      return { type: 'label', targetId: record.target_id, ...(record.label ? { label: record.label } : {}) }
    case 'custom':
      if (OF_THE_HOST.test(record.kind)) return null
      return { type: 'custom', customType: record.kind, data: record.data ?? null }
    case 'damage': {
      const { segment, offset, length, reason = 'unreadable' } = record
      return { type: 'custom', customType: 'beige_damage', data: { segment, offset, length, reason } }
    }
    default:
      return null
  }
}

function piUsage(usage: Usage | undefined): Record<string, unknown> {
  const input = usage?.input_tokens ?? 0
  const output = usage?.output_tokens ?? 0
  const cacheRead = usage?.cache_read_tokens ?? 0
  const cacheWrite = usage?.cache_write_tokens ?? 0
  const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: usage?.cost_usd ?? 0 }
  return { input, output, cacheRead, cacheWrite, totalTokens: input + output + cacheRead + cacheWrite, cost }
}

function time(at: number): string {
  return new Date(at).toISOString()
}
