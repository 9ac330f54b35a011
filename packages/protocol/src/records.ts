/**
 * The records of a session's log (design page "Sessions"). A record is one JSON object a line; the envelope
 * (`seq`, `epoch`, `prev`, `at`) is put around a body by the store that writes it.
 */
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
import { callOutcome, contentBlock, modelRef, resultBlock, runOutcome, stopReason, usage } from './content.ts'

export const SESSION_VERSION = 1

const open = { open: true }

export const sessionBody = obj(
  {
    type: lit('session'),
    version: int(),
    id: str(),
    cwd: str(),
    model: opt(str()),
    title: opt(str()),
    parent: opt(str()),
    /** Facts of the host that made it, e.g. agent, channel, chat. */
    meta: opt(obj({}, open)),
  },
  open,
)
export const promptBody = obj(
  {
    type: lit('prompt'),
    id: str(),
    parent_id: nullable(str()),
    message: arr(resultBlock),
    /** Moving facts of the moment (date, cwd, notes), sent with the message and stored so that a replay is equal. */
    context: opt(str()),
    idempotency_key: opt(str()),
    origin: obj({ kind: str(), name: opt(str()) }, open),
    /** The queued message that this one is. */
    queued: opt(str()),
    /** The form that the answer must have: a JSON Schema. */
    output: opt(obj({ schema: unknown(), description: opt(str()) }, open)),
  },
  open,
)
export const messageBody = obj(
  {
    type: lit('message'),
    id: str(),
    parent_id: nullable(str()),
    role: oneOf(['assistant', 'user']),
    content: arr(contentBlock),
    model: opt(modelRef),
    response_id: opt(str()),
    usage: opt(usage),
    stop_reason: opt(stopReason),
    /** Of role `user`: the queued message that this one is, said while a run went on. */
    queued: opt(str()),
  },
  open,
)
export const toolStartedBody = obj(
  {
    type: lit('tool_started'),
    call_id: str(),
    name: str(),
    input: unknown(),
    job: opt(obj({ scope: str(), id: str(), instance: str() })),
    idempotent: bool(),
  },
  open,
)
export const toolFinishedBody = obj(
  {
    type: lit('tool_finished'),
    call_id: str(),
    content: arr(resultBlock),
    is_error: bool(),
    outcome: callOutcome,
    details: opt(obj({}, open)),
  },
  open,
)
export const runEndBody = obj(
  {
    type: lit('run_end'),
    run_id: str(),
    outcome: runOutcome,
    code: opt(str()),
    error: opt(str()),
    steps: int({ minimum: 0 }),
  },
  open,
)
/** `folded_to` is the id of the first entry that is still sent as it is; what is before it is told by `summary`. */
export const compactionBody = obj(
  {
    type: lit('compaction'),
    id: str(),
    parent_id: nullable(str()),
    folded_to: nullable(str()),
    summary: str(),
    files_read: arr(str()),
    files_modified: arr(str()),
    todos: opt(unknown()),
    tokens_before: int({ minimum: 0 }),
    tokens_after: int({ minimum: 0 }),
  },
  open,
)
/** Goes on from `target_id` (null: from the beginning); `summary` tells what the path that was left had done. */
export const branchBody = obj(
  { type: lit('branch'), id: str(), target_id: nullable(str()), summary: opt(str()) },
  open,
)
/** Moves to `target_id` without a word; null begins anew. */
export const leafBody = obj({ type: lit('leaf'), target_id: nullable(str()) }, open)
/** `label` absent takes the label away. */
export const labelBody = obj({ type: lit('label'), target_id: str(), label: opt(str()) }, open)
export const settingBody = obj({ type: lit('setting'), name: str(), value: unknown() }, open)
export const damageBody = obj(
  {
    type: lit('damage'),
    segment: str(),
    offset: int({ minimum: 0 }),
    length: int({ minimum: 0 }),
    hash: str(),
    seqs: opt(arr(int())),
    reason: opt(str()),
  },
  open,
)
export const customBody = obj({ type: lit('custom'), kind: str(), data: opt(unknown()) }, open)

export const recordBody = union([
  sessionBody,
  promptBody,
  messageBody,
  toolStartedBody,
  toolFinishedBody,
  runEndBody,
  compactionBody,
  branchBody,
  leafBody,
  labelBody,
  settingBody,
  damageBody,
  customBody,
])
export type RecordBody = Static<typeof recordBody>
export type SessionBody = Static<typeof sessionBody>
export type PromptBody = Static<typeof promptBody>
export type MessageBody = Static<typeof messageBody>
export type ToolStartedBody = Static<typeof toolStartedBody>
export type ToolFinishedBody = Static<typeof toolFinishedBody>
export type RunEndBody = Static<typeof runEndBody>
export type CompactionBody = Static<typeof compactionBody>
export type BranchBody = Static<typeof branchBody>
export type DamageBody = Static<typeof damageBody>

/** `prev` is the first 16 bytes, hex, of the SHA-256 of the record line before (without its newline); seq 1 has 32 zeros. */
export const envelope = obj(
  {
    seq: int({ minimum: 1 }),
    epoch: int({ minimum: 1 }),
    prev: str({ pattern: '^[0-9a-f]{32}$' }),
    at: int(),
  },
  open,
)
export type Envelope = Static<typeof envelope>
/** `unknown`: a type that this version does not know; kept, skipped, copied on. */
export type SessionRecord = Envelope & (RecordBody | { type: 'unknown'; raw: unknown })
