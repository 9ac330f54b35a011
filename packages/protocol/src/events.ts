/** What a run tells its viewers while it goes on (`AgentEvent`, design page "Serve protocol"). */
import {
  arr,
  bool,
  int,
  lit,
  nullable,
  obj,
  oneOf,
  opt,
  type Static,
  str,
  union,
  unknown,
} from '@earendil-works/pi-schema'
import { callOutcome, resultBlock, runOutcome, stopReason } from './content.ts'

const open = { open: true }

export const streamEvent = union([
  obj({ type: lit('message_start'), model: str() }, open),
  obj({ type: lit('text_delta'), index: int(), text: str() }, open),
  obj({ type: lit('thinking_delta'), index: int(), text: str() }, open),
  obj({ type: lit('signature_delta'), index: int(), signature: str() }, open),
  obj({ type: lit('redacted_thinking'), index: int(), data: str() }, open),
  obj({ type: lit('tool_use_start'), index: int(), id: str(), name: str() }, open),
  obj({ type: lit('input_json_delta'), index: int(), partial_json: str() }, open),
  obj({ type: lit('input_json_final'), index: int(), input: unknown() }, open),
  obj({ type: lit('text_final'), index: int(), text: str() }, open),
  obj({ type: lit('content_block_stop'), index: int() }, open),
  obj(
    {
      type: lit('usage'),
      input_tokens: int(),
      output_tokens: int(),
      cache_read_tokens: int(),
      cache_write_tokens: int(),
      reasoning_tokens: opt(int()),
    },
    open,
  ),
  obj({ type: lit('message_stop'), stop_reason: stopReason }, open),
])
export type StreamEvent = Static<typeof streamEvent>

export const agentEvent = union([
  obj({ kind: lit('agent_start'), run_id: str(), resumed: bool() }, open),
  obj({ kind: lit('turn_start'), step: int() }, open),
  // The fields of a StreamEvent stand beside `kind`.
  obj({ kind: lit('stream'), type: str() }, open),
  obj({ kind: lit('message_discarded'), reason: str(), attempt: int() }, open),
  // `position` from 1 in the queue of the provider.
  obj({ kind: lit('waiting'), provider: str(), position: int() }, open),
  obj(
    {
      kind: lit('model_switched'),
      model: str(),
      previous: opt(str()),
      cause: oneOf(['client', 'fallback']),
      reason: opt(str()),
    },
    open,
  ),
  obj({ kind: lit('tool_start'), id: str(), name: str(), input: unknown() }, open),
  obj({ kind: lit('tool_progress'), id: str(), name: str(), snapshot: str(), bytes: int() }, open),
  obj(
    {
      kind: lit('tool_end'),
      id: str(),
      name: str(),
      result: arr(resultBlock),
      is_error: bool(),
      outcome: callOutcome,
      details: opt(obj({}, open)),
    },
    open,
  ),
  obj(
    {
      kind: lit('committed'),
      entry_id: str(),
      role: oneOf(['user', 'assistant', 'tool']),
      record_seq: int(),
    },
    open,
  ),
  obj({ kind: lit('steered'), messages: arr(obj({ entry_id: str(), text: str() }, open)) }, open),
  obj({ kind: lit('compaction_start'), reason: str() }, open),
  obj({ kind: lit('compacted'), reason: str(), tokens_before: int(), tokens_after: int() }, open),
  obj({ kind: lit('compaction_failed'), reason: str(), message: str() }, open),
  obj({ kind: lit('tools_updated'), tool_names: arr(str()) }, open),
  obj(
    {
      kind: lit('job_update'),
      job: int(),
      state: oneOf(['started', 'ended', 'lost']),
      exit_code: opt(nullable(int())),
      signal: opt(nullable(str())),
    },
    open,
  ),
  obj({ kind: lit('turn_end'), stop_reason: stopReason, step: int() }, open),
  obj({ kind: lit('agent_end'), steps: int(), outcome: runOutcome }, open),
  obj({ kind: lit('error'), message: str(), code: str() }, open),
])
export type AgentEvent = Static<typeof agentEvent>
