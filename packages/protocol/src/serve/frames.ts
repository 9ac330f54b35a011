/** The frames of `serve/2`: what a session tells its viewers. */
import {
  arr,
  bool,
  int,
  lit,
  map,
  nullable,
  num,
  obj,
  oneOf,
  opt,
  type Static,
  str,
  union,
  unknown,
} from '@earendil-works/pi-schema'
import { callOutcome, contentBlock, modelRef, stopReason } from '../content.ts'
import { agentEvent } from '../events.ts'
import { SERVE_CODES } from './limits.ts'

const open = { open: true }
const seq = { seq: int({ minimum: 0 }) }
const id = { id: opt(str({ maxLength: 128 })) }

/** Whose command caused a numbered frame: `viewer` is the id in that viewer's `ready`. */
export const frameOrigin = obj({ viewer: str(), name: opt(str()) }, open)
const caused = { origin: opt(frameOrigin) }

/** A message of the current branch with its id in the tree; results of tools are messages of the role `tool`. */
export const sessionMessage = obj(
  {
    id: str(),
    role: oneOf(['user', 'assistant', 'tool']),
    content: arr(contentBlock),
    /** Of a prompt. */
    origin: opt(obj({ kind: str(), name: opt(str()) }, open)),
    model: opt(modelRef),
    stop_reason: opt(stopReason),
    /** Of a tool's result. */
    name: opt(str()),
    state: opt(oneOf(['waiting', 'running', 'finished'])),
    is_error: opt(bool()),
    outcome: opt(nullable(callOutcome)),
    details: opt(obj({}, open)),
  },
  open,
)
export type SessionMessage = Static<typeof sessionMessage>

export const queuedMessage = obj(
  { queue_id: str(), message: str(), images: int({ minimum: 0 }), queued_at: int() },
  open,
)
export type QueuedMessage = Static<typeof queuedMessage>
const queues = { steer_queue: arr(queuedMessage), follow_up_queue: arr(queuedMessage) }

export const approvalRequest = obj(
  {
    type: lit('approval_request'),
    ...seq,
    request_id: str(),
    run_id: str(),
    call_id: str(),
    tool: str(),
    /** One line: what would be done. */
    summary: str(),
    /** What it would touch, e.g. a path or the folder a command runs in. */
    touches: opt(str()),
    /** Why it is asked. */
    why: opt(str()),
    /** A unified diff for a change of a file, the whole command for one. */
    preview: opt(str()),
    scope_key: str(),
    origin: union([lit('main'), obj({}, open)]),
    options: arr(oneOf(['allow', 'deny'])),
    scopes: arr(oneOf(['once', 'session'])),
    expires_at: nullable(int()),
  },
  open,
)
export type ApprovalRequest = Static<typeof approvalRequest>

/** The turn as far as it is: replaces what a client had of it. */
export const turnSoFar = obj(
  {
    run_id: str(),
    step: int(),
    started_at: int(),
    attempt: int(),
    partial: nullable(obj({ role: lit('assistant'), content: arr(unknown()) }, open)),
    tools: arr(
      obj(
        {
          id: str(),
          name: str(),
          input: unknown(),
          state: oneOf(['asking', 'running']),
          snapshot: str(),
          bytes: int(),
        },
        open,
      ),
    ),
    asks: arr(approvalRequest),
    ...queues,
    retry: nullable(obj({}, open)),
    compacting: bool(),
  },
  open,
)
export type TurnSoFar = Static<typeof turnSoFar>

export const GAP_REASONS = ['slow', 'window', 'owner', 'ahead'] as const

export const frameSchemas = {
  ready: obj(
    {
      type: lit('ready'),
      ...seq,
      protocol: str(),
      session_id: str(),
      model: str(),
      cwd: str(),
      cwd_stale: bool(),
      epoch: int(),
      viewer: str(),
      role: oneOf(['drive', 'view']),
      run_id: nullable(str()),
      features: arr(str()),
      grant_ignored: opt(bool()),
    },
    open,
  ),
  catchup: obj(
    {
      type: lit('catchup'),
      ...seq,
      turn_in_flight: bool(),
      data: obj({ messages: arr(sessionMessage), leaf_id: nullable(str()), has_more: bool() }, open),
      run: nullable(turnSoFar),
    },
    open,
  ),
  gap: obj(
    {
      type: lit('gap'),
      ...seq,
      from: int(),
      to: int(),
      reason: oneOf(GAP_REASONS),
      since: nullable(str()),
    },
    open,
  ),
  error: obj({ type: lit('error'), ...seq, session_id: opt(str()), code: str(), error: str() }, open),
  ack: obj(
    {
      type: lit('ack'),
      ...seq,
      ...id,
      ...caused,
      command: str(),
      run_id: opt(str()),
      duplicate: opt(bool()),
    },
    open,
  ),
  response: obj(
    {
      type: lit('response'),
      ...seq,
      ...id,
      ...caused,
      command: str(),
      success: bool(),
      data: opt(map(unknown())),
      error: opt(str()),
      code: opt(oneOf(SERVE_CODES)),
      /** What a person can do about the error. */
      advice: opt(str()),
      warnings: opt(arr(str())),
    },
    open,
  ),
  event: obj({ type: lit('event'), ...seq, run_id: str(), event: agentEvent }, open),
  heartbeat: obj({ type: lit('heartbeat'), ...seq }, open),
  list_progress: obj(
    { type: lit('list_progress'), ...seq, ...id, command: str(), scanned: int(), total: int() },
    open,
  ),
  auto_retry_start: obj(
    {
      type: lit('auto_retry_start'),
      ...seq,
      run_id: opt(str()),
      command: str(),
      attempt: int(),
      max_attempts: int(),
      delay_ms: int(),
      error: str(),
    },
    open,
  ),
  auto_retry_end: obj(
    {
      type: lit('auto_retry_end'),
      ...seq,
      run_id: opt(str()),
      command: str(),
      success: bool(),
      attempt: int(),
      final_error: opt(str()),
    },
    open,
  ),
  queue_changed: obj({ type: lit('queue_changed'), ...seq, ...caused, ...queues }, open),
  session_info_changed: obj(
    { type: lit('session_info_changed'), ...seq, ...caused, title: nullable(str()) },
    open,
  ),
  /** The settings that changed, by name. */
  settings_changed: obj({ type: lit('settings_changed'), ...seq, ...caused, settings: map(unknown()) }, open),
  approval_request: approvalRequest,
  approval_resolved: obj(
    {
      type: lit('approval_resolved'),
      ...seq,
      request_id: str(),
      decision: oneOf(['allow', 'deny']),
      scope: opt(oneOf(['once', 'session'])),
      reason: opt(oneOf(['timed_out', 'cancelled', 'no_client'])),
      by: opt(str()),
    },
    open,
  ),
  elicitation_request: obj(
    {
      type: lit('elicitation_request'),
      ...seq,
      request_id: str(),
      server: str(),
      message: str(),
      schema: opt(unknown()),
    },
    open,
  ),
  elicitation_resolved: obj(
    { type: lit('elicitation_resolved'), ...seq, request_id: str(), action: str() },
    open,
  ),
  sampling_request: obj(
    { type: lit('sampling_request'), ...seq, request_id: str(), server: str(), message: str() },
    open,
  ),
  sampling_resolved: obj({ type: lit('sampling_resolved'), ...seq, request_id: str(), action: str() }, open),
  mcp_app_open: obj({ type: lit('mcp_app_open'), ...seq, server: str(), app_id: str() }, open),
  mcp_app_result: obj({ type: lit('mcp_app_result'), ...seq, server: str(), app_id: str() }, open),
  mcp_app_teardown: obj({ type: lit('mcp_app_teardown'), ...seq, server: str(), app_id: str() }, open),
  mcp_event: obj({ type: lit('mcp_event'), ...seq, server: str(), name: str() }, open),
  mcp_event_status: obj({ type: lit('mcp_event_status'), ...seq, server: str(), name: str() }, open),
  login_progress: obj({ type: lit('login_progress'), ...seq, provider: str(), step: str() }, open),
  session_superseded: obj(
    { type: lit('session_superseded'), ...seq, session_id: str(), tenant: opt(str()) },
    open,
  ),
} as const

export type FrameType = keyof typeof frameSchemas
export type FrameOf<T extends FrameType> = Static<(typeof frameSchemas)[T]>
export type Frame = { [T in FrameType]: FrameOf<T> }[FrameType]

/** Any frame. */
export const frame = union(Object.values(frameSchemas))

/** `data` of the final response to `prompt`. */
export const promptResult = obj(
  {
    run_id: str(),
    steps: int(),
    stop_reason: str(),
    refused: bool(),
    text: str(),
    input_tokens: int(),
    output_tokens: int(),
    cache_read_tokens: int(),
    cache_write_tokens: int(),
    cost_usd: opt(num()),
    structured_output: opt(unknown()),
  },
  open,
)
export type PromptResult = Static<typeof promptResult>

export function isFrameType(name: string): name is FrameType {
  return Object.hasOwn(frameSchemas, name)
}
