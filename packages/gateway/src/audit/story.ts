/** Turns what the pipeline tells into audit bodies: redacted, bounded, with the identity that our side knows. */
import { hash } from 'node:crypto'
import type { Audit, AuditStory, Decision } from '@beige/harness'
import { type AuditBody, CORE_TOOLS } from '@beige/protocol'
import type { AuditLog } from './audit-log.ts'
import type { Redactor } from './redactor.ts'

export const MAX_ARG_BYTES = 4096
const HEAD_CHARS = 1024 // of an argument that is too long
const MAX_ARGS_BYTES = 32_768 // of a call; further arguments are counted

/** What our side knows of a call; never anything that a caller sent. */
export type CallIdentity = {
  agent: string
  session: string | null
  run: string | null
  channel: string | null
  model: string | null
}

export function createCallAudit(parts: {
  log: AuditLog
  redact: Redactor
  args: 'redacted' | 'hash'
  /** Asked at the start and again at the end of a call. */
  identityOf(story: AuditStory): CallIdentity
  /** Bytes that went to a caller's streams; null where the result holds the output. */
  streamedBytes(story: AuditStory): number | null
  /** Told when a call's start is on disk. */
  onStart?(story: AuditStory): void
  /** Told when a call is over, whatever became of it. */
  onEnd?(story: AuditStory): void
}): Audit {
  const storyOf = (story: AuditStory) => {
    const { agent, session, run, channel, model } = parts.identityOf(story)
    const isCore = CORE_TOOLS.some(name => name === story.name)
    return {
      id: story.callId,
      agent,
      type: isCore ? ('core_tool' as const) : ('tool' as const),
      tool: boundText(parts.redact(story.name), 128),
      ...(isCore ? {} : { target: 'gateway' as const }),
      args: auditArgs(argsOf(story.input), parts.redact, parts.args),
      origin: story.origin,
      ...(session === null ? {} : { session }),
      ...(run === null ? {} : { run }),
      ...(channel === null ? {} : { channel }),
      ...(model === null ? {} : { model }),
      ...(story.parent === undefined ? {} : { parent: story.parent }),
    }
  }
  return {
    async start(story) {
      await parts.log.append({ phase: 'start', ...storyOf(story), decision: 'allowed' })
      parts.onStart?.(story)
    },
    async end(story, decision, end) {
      const outputBytes = parts.streamedBytes(story) ?? end?.outputBytes ?? 0
      const told = end === null ? null : { ...end, outputBytes }
      try {
        await parts.log.append(endOf(storyOf(story), decision, told, parts.redact))
      } finally {
        parts.onEnd?.(story)
      }
    },
  }
}

type Told = Omit<Extract<AuditBody, { phase: 'start' }>, 'phase' | 'decision'>

function endOf(
  story: Told,
  decision: Decision,
  end: Parameters<Audit['end']>[2],
  redact: Redactor,
): AuditBody {
  const denied = decision.effect === 'deny'
  return {
    phase: 'end',
    ...story,
    decision: denied ? 'denied' : 'allowed',
    by: denied ? decision.by : 'policy',
    rule: decision.rule,
    ...(denied ? { reason: boundText(redact(decision.reason), MAX_ARG_BYTES) } : {}),
    ...(end === null
      ? {}
      : {
          outcome: end.outcome,
          durationMs: end.durationMs,
          ...(end.exitCode === null ? {} : { exitCode: end.exitCode }),
          outputBytes: end.outputBytes,
        }),
  }
}

/** The argv of a launcher's call, or what a core tool was given, as a list of texts. */
export function argsOf(input: unknown): string[] {
  if (typeof input !== 'object' || input === null) return [textOf(input)]
  const field = (name: string): unknown => Object.getOwnPropertyDescriptor(input, name)?.value
  const b64 = field('args_b64')
  if (Array.isArray(b64)) return b64.map(arg => visible(Buffer.from(String(arg), 'base64')))
  const args = field('args')
  if (Array.isArray(args)) return args.map(textOf)
  const first = ['path', 'command'].flatMap(name => (field(name) === undefined ? [] : [textOf(field(name))]))
  const rest = Object.entries(input).filter(([name]) => name !== 'path' && name !== 'command')
  return [...first, ...rest.map(([name, value]) => `${name}=${textOf(value)}`)]
}

export function auditArgs(args: readonly string[], redact: Redactor, mode: 'redacted' | 'hash'): string[] {
  if (mode === 'hash') return args.map(arg => `sha256:${hash('sha256', arg, 'hex')}`).slice(0, 256)
  const out: string[] = []
  let total = 0
  for (const [index, arg] of args.entries()) {
    // Cut before it is redacted: a filter must not run over megabytes. The margin keeps a secret at the cut whole.
    const head = Buffer.byteLength(arg) > MAX_ARG_BYTES ? arg.slice(0, HEAD_CHARS + MAX_SECRET_MARGIN) : arg
    const shown = boundText(redact(head), head === arg ? MAX_ARG_BYTES : HEAD_CHARS)
    const text =
      head === arg
        ? shown
        : `${shown} [${Buffer.byteLength(arg)} bytes, sha256 ${hash('sha256', arg, 'hex')}]`
    total += Buffer.byteLength(text)
    if (total > MAX_ARGS_BYTES) return [...out, `[${args.length - index} more]`]
    out.push(text)
  }
  return out
}
const MAX_SECRET_MARGIN = 1024

function boundText(text: string, maxChars: number): string {
  return text.length > maxChars ? `${text.slice(0, maxChars)}…` : text
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? 'undefined')
}

/** UTF-8 where it is, else with `\xNN` for what is not. */
function visible(bytes: Buffer): string {
  const text = bytes.toString('utf8')
  if (Buffer.from(text).equals(bytes)) return text
  return bytes
    .toString('latin1')
    .replace(/[^ -~]/g, char => `\\x${char.charCodeAt(0).toString(16).padStart(2, '0')}`)
}
