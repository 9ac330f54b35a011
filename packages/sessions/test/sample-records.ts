/** Records as a turn writes them, for tests. */
import {
  asEntryId,
  type EntryId,
  isSessionId,
  type MessageBody,
  type PromptBody,
  type Random,
  type SessionId,
  type ToolFinishedBody,
  type ToolStartedBody,
} from '@beige/protocol'

export function sessionId(name: string): SessionId {
  if (!isSessionId(name)) throw new TypeError(`${name} is no session id`)
  return name
}

export function prompt(id: string, parent: string | null, text = `do ${id}`, key?: string): PromptBody {
  return {
    type: 'prompt',
    id,
    parent_id: parent,
    message: [{ type: 'text', text }],
    origin: { kind: 'local' },
    ...(key === undefined ? {} : { idempotency_key: key }),
  }
}

export function answer(id: string, parent: string, calls: readonly string[] = [], text = 'ok'): MessageBody {
  return {
    type: 'message',
    id,
    parent_id: parent,
    role: 'assistant',
    content: [
      { type: 'text', text },
      ...calls.map(call => ({
        type: 'tool_call' as const,
        id: call,
        name: 'bash',
        input: { command: 'true' },
      })),
    ],
    usage: { input_tokens: 10, output_tokens: 5, cache_read_tokens: 1, cache_write_tokens: 0, cost_usd: 0.5 },
    stop_reason: calls.length > 0 ? 'tool_use' : 'end_turn',
  }
}

export function started(call: string, idempotent = false): ToolStartedBody {
  return { type: 'tool_started', call_id: call, name: 'bash', input: { command: 'true' }, idempotent }
}

export function finished(call: string, text = 'done'): ToolFinishedBody {
  return {
    type: 'tool_finished',
    call_id: call,
    content: [{ type: 'text', text }],
    is_error: false,
    outcome: 'done',
  }
}

export function entry(id: string): EntryId {
  return asEntryId(id)
}

/** The same numbers for the same seed (mulberry32). */
export function seededNumbers(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

export function seededRandom(seed: number): Random {
  const next = seededNumbers(seed)
  return { bytes: count => Uint8Array.from({ length: count }, () => Math.floor(next() * 256)) }
}
