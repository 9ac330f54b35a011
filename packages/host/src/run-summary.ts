/** The result of a run as its client hears it. A fold over the log, so any later owner gives the same answer. */
import { outputOf } from '@beige/harness'
import type { EntryId, PromptResult } from '@beige/protocol'
import type { SessionState } from '@beige/sessions'

export type RunSummary = PromptResult & { outcome: string; code?: string; error?: string }

/** Null while the run has no end, or is unknown. */
export function runSummary(state: SessionState, runId: EntryId): RunSummary | null {
  const run = state.runs.get(runId)
  if (!run?.end) return null
  const from = state.entries.findIndex(entry => entry.id === runId)
  const rest = from < 0 ? [] : state.entries.slice(from + 1)
  const next = rest.findIndex(entry => entry.kind === 'prompt')
  const messages = (next < 0 ? rest : rest.slice(0, next)).flatMap(entry =>
    entry.kind === 'message' ? [entry.body] : [],
  )
  const output = outputOf(state, runId)
  const last = messages.findLast(message => message.role === 'assistant')
  const sum = (
    field: 'input_tokens' | 'output_tokens' | 'cache_read_tokens' | 'cache_write_tokens' | 'cost_usd',
  ) => messages.reduce((total, message) => total + (message.usage?.[field] ?? 0), 0)
  return {
    run_id: runId,
    outcome: run.end.outcome,
    steps: run.end.steps,
    stop_reason: run.end.outcome === 'aborted' ? 'aborted' : (last?.stop_reason ?? 'other'),
    refused: run.end.outcome === 'refused',
    text: (last?.content ?? []).map(block => (block.type === 'text' ? block.text : '')).join(''),
    input_tokens: sum('input_tokens'),
    output_tokens: sum('output_tokens'),
    cache_read_tokens: sum('cache_read_tokens'),
    cache_write_tokens: sum('cache_write_tokens'),
    cost_usd: sum('cost_usd'),
    ...(output === undefined ? {} : { structured_output: output.value }),
    ...(run.end.code === undefined ? {} : { code: run.end.code }),
    ...(run.end.error === undefined ? {} : { error: run.end.error }),
  }
}
