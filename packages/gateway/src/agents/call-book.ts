/**
 * The calls of one agent that run now: whose they are, where launchers' calls came from, what the audit says of both. A
 * model's call is opened with its token before it enters the pipeline; a launcher's when its request arrives.
 */
import type { Audit } from '@beige/harness'
import type { CallId } from '@beige/protocol'
import type { AuditLog } from '../audit/audit-log.ts'
import type { Redactor } from '../audit/redactor.ts'
import { createCallAudit } from '../audit/story.ts'
import type { CallTokens, LiveCall } from '../tool-socket/call-tokens.ts'
import type { LauncherRegistry, RunningLauncher } from '../tool-socket/launcher-calls.ts'

export interface CallBook {
  /** The environment of a model's call: its token, and for information who it is. */
  openModelCall(callId: CallId, call: Omit<LiveCall, 'agent'>, key: string): Readonly<Record<string, string>>
  readonly launchers: LauncherRegistry
  readonly audit: Audit
}

export function createCallBook(parts: {
  agent: string
  tokens: CallTokens
  log: AuditLog
  redact: Redactor
  args: 'redacted' | 'hash'
}): CallBook {
  const { agent, tokens } = parts
  const launched = new Map<CallId, RunningLauncher>()
  return {
    openModelCall(callId, call, key) {
      const token = tokens.open(callId, { ...call, agent })
      return {
        BEIGE_TOKEN: token,
        BEIGE_AGENT_NAME: agent,
        BEIGE_SESSION_KEY: key,
        ...(call.channel === null ? {} : { BEIGE_CHANNEL: call.channel }),
      }
    },
    launchers: {
      add: (callId, call) => void launched.set(callId, call),
      remove: callId => void launched.delete(callId),
    },
    audit: createCallAudit({
      log: parts.log,
      redact: parts.redact,
      args: parts.args,
      identityOf(story) {
        const launcher = launched.get(story.callId)
        const call = launcher === undefined ? tokens.get(story.callId) : launcher.from
        return {
          agent,
          session: call?.session ?? null,
          run: call?.run ?? null,
          channel: call?.channel ?? (launcher === undefined ? null : 'socket'),
          model: call?.model ?? null,
        }
      },
      streamedBytes: story => launched.get(story.callId)?.outputBytes ?? null,
      onStart: story => launched.get(story.callId)?.onStarted(),
      onEnd: story => tokens.close(story.callId),
    }),
  }
}
