/** The audit log's line (design page "Gateway", Audit). */
import {
  arr,
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

/** Where a call came from. It is set by the side of a socket or lease that we own, never read from a payload. */
export const callOrigin = oneOf(['model', 'subagent', 'launcher', 'http', 'plugin', 'app', 'user'])
export type CallOrigin = Static<typeof callOrigin>

export const decidedBy = oneOf(['validation', 'policy', 'hook', 'approval', 'rate', 'budget'])
export type DecidedBy = Static<typeof decidedBy>

const story = {
  id: str(),
  agent: str(),
  type: oneOf([
    'core_tool',
    'tool',
    'llm',
    'egress',
    'secret',
    'approval',
    'hook',
    'api',
    'admin',
    'gateway',
  ]),
  tool: opt(str()),
  target: opt(oneOf(['gateway', 'sandbox'])),
  args: opt(arr(str())),
  session: opt(str()),
  run: opt(str()),
  channel: opt(str()),
  origin: opt(callOrigin),
  parent: opt(str()),
  model: opt(str()),
}
/** Of a request to a model; `key` is the id of the virtual key that asked. */
const llm = {
  key: opt(str()),
  /** `done`, `aborted` or why it failed. */
  class: opt(str()),
  /** From 1 within its request. */
  attempt: opt(int()),
  /** Of HTTP. */
  status: opt(int()),
  tokens: opt(
    obj({
      input: int(),
      output: int(),
      cacheRead: int(),
      cacheWrite: int(),
      reasoning: opt(int()),
    }),
  ),
  costUsd: opt(num()),
  estimated: opt(bool()),
}
export const auditBody = union([
  obj({ phase: lit('start'), ...story, decision: lit('allowed') }, { open: true }),
  obj(
    {
      phase: lit('end'),
      ...story,
      decision: oneOf(['allowed', 'denied']),
      by: decidedBy,
      rule: opt(str()),
      reason: opt(str()),
      outcome: opt(oneOf(['done', 'failed', 'interrupted', 'unknown'])),
      durationMs: opt(int()),
      exitCode: opt(int()),
      outputBytes: opt(int()),
      ...llm,
    },
    { open: true },
  ),
  obj({ phase: lit('note'), ...story, event: str(), details: opt(unknown()) }, { open: true }),
])
export type AuditBody = Static<typeof auditBody>

/** `prev`: first 16 bytes, hex, of the SHA-256 of the line before. */
export const auditEnvelope = obj({ seq: int({ minimum: 1 }), prev: str(), ts: str() }, { open: true })
export type AuditRecord = Static<typeof auditEnvelope> & AuditBody
