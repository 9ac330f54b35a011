/** A log with every type of record, branches, compactions, and text that would like to be markup. */
import type { RecordBody } from '@beige/protocol'

export const HOSTILE =
  '<script>alert(1)</script> </title></style><img src=x onerror=alert(1)> &amp; "quoted" \'single\' \u0000\u0007\u001b[31m \u202e \ud800 \ufdd0 \u{1ffff} ]]> <!-- --'
export const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

const usage = {
  input_tokens: 100,
  output_tokens: 10,
  cache_read_tokens: 0,
  cache_write_tokens: 0,
  cost_usd: 0.01,
}
const model = { provider: 'fake', id: 'm1', api: 'anthropic-messages' }
const text = (value: string) => [{ type: 'text' as const, text: value }]
const prompt = (id: string, parent_id: string | null, value: string): RecordBody => ({
  type: 'prompt',
  id,
  parent_id,
  message: text(value),
  origin: { kind: 'channel', name: 'chat' },
})
const answer = (id: string, parent_id: string, value: string): RecordBody => ({
  type: 'message',
  id,
  parent_id,
  role: 'assistant',
  content: text(value),
  model,
  usage,
  stop_reason: 'end_turn',
})
const compaction = (
  id: string,
  parent_id: string,
  folded_to: string | null,
  summary: string,
): RecordBody => ({
  type: 'compaction',
  id,
  parent_id,
  folded_to,
  summary,
  files_read: ['a.ts'],
  files_modified: ['b.ts'],
  tokens_before: 90_000,
  tokens_after: 12_000,
})

/** `note` stands in every place that takes text. */
export function everyRecord(note: string): RecordBody[] {
  return [
    prompt('p1', null, `first ${note}`),
    {
      type: 'message',
      id: 'a1',
      parent_id: 'p1',
      role: 'assistant',
      content: [
        { type: 'thinking', text: `thought ${note}`, signature: 's' },
        { type: 'text', text: `said ${note}\n\`\`\`html\n${note}\n\`\`\`\n` },
        {
          type: 'tool_call',
          id: 'c1',
          name: 'edit',
          input: { path: note, old_string: 'a\nold\nc', new_string: `a\n${note}\nc` },
        },
        { type: 'tool_call', id: 'c2', name: `odd ${note}`, input: { [note]: note } },
        { type: 'tool_call', id: 'c3', name: 'bash', input: { command: `echo ${note}` } },
      ],
      model,
      response_id: 'r1',
      usage,
      stop_reason: 'tool_use',
    },
    { type: 'tool_started', call_id: 'c1', name: 'edit', input: {}, idempotent: false },
    {
      type: 'tool_finished',
      call_id: 'c1',
      content: text(`edited ${note}`),
      is_error: false,
      outcome: 'done',
    },
    { type: 'tool_started', call_id: 'c2', name: 'odd', input: {}, idempotent: false },
    {
      type: 'tool_finished',
      call_id: 'c2',
      content: [...text(`failed ${note}`), { type: 'image', media_type: 'image/png', data: PIXEL }],
      is_error: true,
      outcome: 'unknown',
    },
    { type: 'run_end', run_id: 'p1', outcome: 'failed', code: 'model', error: `failed ${note}`, steps: 1 },
    { type: 'label', target_id: 'a1', label: `label ${note}` },
    { type: 'setting', name: 'model', value: `fake/m2 ${note}` },
    { type: 'setting', name: 'reasoning_effort', value: 'high' },
    { type: 'setting', name: 'title', value: `A title ${note}` },
    prompt('p2', 'a1', 'a way that was left'),
    answer('a2', 'p2', `left ${note}`),
    { type: 'leaf', target_id: 'p2' },
    answer('a2b', 'p2', 'a branch of the branch'),
    { type: 'branch', id: 'b1', target_id: 'a1', summary: `summary ${note}` },
    {
      type: 'prompt',
      id: 'p3',
      parent_id: 'b1',
      message: [
        ...text('the way that was taken'),
        { type: 'image', media_type: `image/svg+xml${note}`, data: note },
      ],
      origin: { kind: 'local' },
    },
    answer('a3', 'p3', 'kept'),
    compaction('k1', 'a3', 'p3', `compacted ${note}`),
    prompt('p4', 'k1', 'after it'),
    { type: 'message', id: 'u1', parent_id: 'p4', role: 'user', content: text(`steered ${note}`) },
    { type: 'custom', kind: 'mine', data: { note } },
    { type: 'custom', kind: 'beige.notice', data: { hidden: 'of the host' } },
    { type: 'custom', kind: 'mcp_task', data: { hidden: 'of a server' } },
    {
      type: 'damage',
      segment: '000001.jsonl',
      offset: 12,
      length: 34,
      hash: 'h',
      seqs: [998, 999],
      reason: `unreadable ${note}`,
    },
    {
      type: 'tool_finished',
      call_id: 'lost',
      content: text(`lost ${note}`),
      is_error: false,
      outcome: 'done',
    },
  ]
}
