/** Questions to people about calls: who may answer, how long they stand, what was decided for the session. */
import { type ApprovalAnswer, type ApprovalGate, effectOf, type Session } from '@beige/harness'
import {
  type ApprovalRequest,
  type Clock,
  type CommandOf,
  type FrameOf,
  newEntryId,
  type Random,
} from '@beige/protocol'
import { fail } from './errors.ts'
import type { Unnumbered } from './viewers/frames.ts'

const APPROVAL_KIND = 'beige.approval'
const RETURN_MS = 10_000 // for a driver that just dropped

export type ApproveSettings = {
  mode: 'off' | 'writes' | 'all' | { readonly tools: readonly string[] }
  /** 0: a question stands until somebody answers. */
  timeoutMs: number
}

type Question = Omit<ApprovalRequest, 'seq'>
type Resolved = Pick<FrameOf<'approval_resolved'>, 'decision' | 'scope' | 'reason' | 'by'>
type Resolution = Resolved & { text?: string }
type Open = { question: Question; resolve(resolution: Resolution): void }

export interface Approvals {
  /** Of one run; undefined where nobody is ever asked. */
  gate(runId: string): ApprovalGate | undefined
  open(): ApprovalRequest[]
  /** False where the question is answered, gone or was never asked. */
  answer(command: CommandOf<'approve'>, by: string | undefined): boolean
  /** Somebody came or went. */
  viewersChanged(): void
}

export function createApprovals(parts: {
  session: Session
  settings: ApproveSettings | undefined
  clock: Clock
  random: Random
  /** Whether anybody who may answer is there. */
  hasDriver(): boolean
  seq(): number
  tell(frame: Unnumbered): void
  asking(callId: string, isAsking: boolean): void
}): Approvals {
  const { session, settings, clock, random, tell } = parts
  const questions = new Map<string, Open>()
  let driverSeenAt = Number.NEGATIVE_INFINITY
  let hadDriver = false

  /** `session` decisions by scope key, as the log has them; a new conversation forgets them. */
  function remembered(key: string): 'allow' | 'deny' | null {
    let found: 'allow' | 'deny' | null = null
    for (const record of session.log.records) {
      if (record.type === 'leaf' && record.target_id === null) found = null
      if (record.type !== 'custom' || record.kind !== APPROVAL_KIND) continue
      const { data } = record
      if (typeof data !== 'object' || data === null || !('key' in data) || data.key !== key) continue
      if ('decision' in data) found = data.decision === 'allow' ? 'allow' : 'deny'
    }
    return found
  }

  async function remember(key: string, decision: 'allow' | 'deny', by: string | undefined): Promise<void> {
    const data = { key, decision, ...(by === undefined ? {} : { by }) }
    await session.append({ type: 'custom', kind: APPROVAL_KIND, data })
  }

  async function resolution(
    open: Open,
    answered: Promise<Resolution>,
    signal: AbortSignal,
  ): Promise<Resolution> {
    const over = new AbortController()
    const waits = AbortSignal.any([signal, over.signal])
    const late = async (ms: number): Promise<Resolved> => {
      await clock.sleep(ms, waits)
      return { decision: 'deny', reason: 'timed_out' }
    }
    const cancelled = new Promise<Resolved>(resolve => {
      const cancel = () => resolve({ decision: 'deny', reason: 'cancelled' })
      if (signal.aborted) cancel()
      else signal.addEventListener('abort', cancel, { once: true, signal: over.signal })
    })
    const ways: Promise<Resolution>[] = [answered, cancelled, nobody(open, waits)]
    if (settings && settings.timeoutMs > 0) ways.push(late(settings.timeoutMs))
    for (const way of ways) way.catch(() => {})
    try {
      return await Promise.race(ways)
    } catch {
      return { decision: 'deny', reason: 'cancelled' }
    } finally {
      over.abort()
    }
  }

  /** Resolves when no driver has been there for a while. */
  async function nobody(open: Open, signal: AbortSignal): Promise<Resolved> {
    for (;;) {
      const leftMs = parts.hasDriver() ? RETURN_MS : driverSeenAt + RETURN_MS - clock.monotonic()
      if (leftMs <= 0 || !questions.has(open.question.request_id)) break
      await clock.sleep(leftMs, signal)
      if (parts.hasDriver()) driverSeenAt = clock.monotonic()
    }
    return { decision: 'deny', reason: 'no_client' }
  }

  function gate(runId: string): ApprovalGate | undefined {
    if (!settings || settings.mode === 'off') return undefined
    const { mode } = settings
    return {
      needs: (tool, input) => {
        if (typeof mode === 'object') return mode.tools.includes(tool.name)
        const effect = effectOf(tool, input)
        return mode === 'writes' ? effect === 'writes' : effect !== 'reads'
      },
      ask: async (call, preview, signal) => {
        const key = `${call.name}\n${preview.scopeKey}`
        const before = remembered(key)
        if (before === 'allow') return { allow: true }
        if (before === 'deny') return rejected('it was denied for this session')
        const question: Question = {
          type: 'approval_request',
          request_id: newEntryId(clock, random),
          run_id: runId,
          call_id: call.callId,
          tool: call.name,
          summary: preview.summary,
          ...(preview.touches === null ? {} : { touches: preview.touches }),
          why: whyOf(mode),
          ...(preview.text === null ? {} : { preview: preview.text }),
          scope_key: preview.scopeKey,
          origin: 'main',
          options: ['allow', 'deny'],
          scopes: ['once', 'session'],
          expires_at: settings.timeoutMs > 0 ? clock.now() + settings.timeoutMs : null,
        }
        const { promise, resolve } = Promise.withResolvers<Resolution>()
        const open: Open = { question, resolve }
        questions.set(question.request_id, open)
        parts.asking(call.callId, true)
        tell(question)
        const { text, ...resolved } = await resolution(open, promise, signal)
        questions.delete(question.request_id)
        parts.asking(call.callId, false)
        if (resolved.scope === 'session' && !resolved.reason) {
          await remember(key, resolved.decision, resolved.by)
        }
        tell({ type: 'approval_resolved', request_id: question.request_id, ...resolved })
        return answerOf(resolved, text)
      },
    }
  }

  return {
    gate,
    open: () => [...questions.values()].map(({ question }) => ({ ...question, seq: parts.seq() })),
    answer: ({ request_id, decision, scope = 'once', reason }, by) => {
      const open = questions.get(request_id)
      if (!open) return false
      questions.delete(request_id) // the first answer wins
      open.resolve({
        ...{ decision, scope },
        ...(by === undefined ? {} : { by }),
        ...(reason === undefined ? {} : { text: reason }),
      })
      return true
    },
    viewersChanged: () => {
      const hasDriver = parts.hasDriver()
      if (hadDriver && !hasDriver) driverSeenAt = clock.monotonic()
      hadDriver = hasDriver
    },
  }
}

function whyOf(mode: ApproveSettings['mode']): string {
  if (typeof mode === 'object') return 'this tool is asked about'
  return mode === 'writes' ? 'it changes a file' : 'it does more than reading'
}

const rejected = (text: string): ApprovalAnswer => ({
  allow: false,
  why: 'rejected',
  text: `denied: ${text}`,
})

function answerOf({ decision, reason }: Resolved, text: string | undefined): ApprovalAnswer {
  if (decision === 'allow') return { allow: true }
  switch (reason) {
    case 'timed_out':
      return { allow: false, why: 'timed_out', text: 'denied: nobody answered in time' }
    case 'no_client':
      return { allow: false, why: 'no_client', text: 'denied: nobody is there who could allow it' }
    case 'cancelled':
      return { allow: false, why: 'cancelled', text: '[interrupted before it was allowed]' }
    case undefined:
      return rejected(text ?? 'a person said no')
    default:
      throw fail('bad_request', { reason: reason satisfies never })
  }
}
