/** What messages and tool results are made of, in the log and on the wire. */
import {
  bool,
  int,
  lit,
  num,
  obj,
  oneOf,
  opt,
  type Static,
  str,
  union,
  unknown,
} from '@earendil-works/pi-schema'

export const textBlock = obj({ type: lit('text'), text: str(), signature: opt(str()) }, { open: true })
/** `data` is base64 of the image's bytes. */
export const imageBlock = obj({ type: lit('image'), media_type: str(), data: str() }, { open: true })
export const thinkingBlock = obj(
  { type: lit('thinking'), text: str(), signature: opt(str()), redacted: opt(bool()) },
  { open: true },
)
/**
 * `id` is ours and unique in the session; `provider_id` is what the provider called it and is only for requests to the
 * same provider. `input_error` says why the model's arguments were no JSON object (`input` is then `{}`).
 */
export const toolCallBlock = obj(
  {
    type: lit('tool_call'),
    id: str(),
    provider_id: opt(str()),
    name: str(),
    input: unknown(),
    input_error: opt(str()),
    signature: opt(str()),
  },
  { open: true },
)

export const resultBlock = union([textBlock, imageBlock])
export const contentBlock = union([textBlock, imageBlock, thinkingBlock, toolCallBlock])
export type TextBlock = Static<typeof textBlock>
export type ImageBlock = Static<typeof imageBlock>
export type ResultBlock = Static<typeof resultBlock>
export type ToolCallBlock = Static<typeof toolCallBlock>
export type ContentBlock = Static<typeof contentBlock>

/** Tokens of one request; `cost_usd` is the provider's own number where it gives one, else the catalogue's. */
export const usage = obj(
  {
    input_tokens: int(),
    output_tokens: int(),
    cache_read_tokens: int(),
    cache_write_tokens: int(),
    reasoning_tokens: opt(int()),
    cost_usd: num(),
  },
  { open: true },
)
export type Usage = Static<typeof usage>

export const stopReason = oneOf([
  'end_turn',
  'tool_use',
  'max_tokens',
  'stop_sequence',
  'refusal',
  'aborted',
  'other',
])
export type StopReason = Static<typeof stopReason>

export const modelRef = obj({ provider: str(), id: str(), api: opt(str()) }, { open: true })
export type ModelRef = Static<typeof modelRef>

export const callOutcome = oneOf(['done', 'interrupted', 'unknown'])
export type CallOutcome = Static<typeof callOutcome>
export const runOutcome = oneOf(['done', 'failed', 'refused', 'aborted'])
export type RunOutcome = Static<typeof runOutcome>
