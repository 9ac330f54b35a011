/** Who may call what, and who writes down that it was decided. Both are handed to the one tool pipeline. */
import type { CallId, CallOrigin, DecidedBy } from '@beige/protocol'

export type Decision =
  | { effect: 'allow'; rule: string }
  | { effect: 'deny'; by: DecidedBy; rule: string; reason: string }

/** Decides from what the pipeline knows, never from a payload's claims about identity. */
export interface Policy {
  decide(call: { name: string; input: unknown; origin: CallOrigin }): Decision
}

export type AuditStory = {
  callId: CallId
  name: string
  input: unknown
  origin: CallOrigin
  parent?: CallId
}

/** `start` resolves when the line is durable; a rejection means that the call does not run. */
export interface Audit {
  start(story: AuditStory, decision: Decision): Promise<void>
  end(
    story: AuditStory,
    decision: Decision,
    end: {
      outcome: 'done' | 'failed' | 'interrupted' | 'unknown'
      durationMs: number
      exitCode: number | null
      outputBytes: number
    } | null,
  ): Promise<void>
}
