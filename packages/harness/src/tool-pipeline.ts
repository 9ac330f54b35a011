/**
 * The one way in which any tool call runs, whoever makes it: validate, policy, audit start, journal, run, bound, audit
 * end. Core tools, plugin tools, launchers and HTTP exec enter at `runCall` and nowhere else (H77).
 */
import {
  BeigeError,
  type Clock,
  explain,
  isError,
  messageOf,
  nearest,
  type ResultBlock,
} from '@beige/protocol'
import { APPEND_FAILURES } from '@beige/sessions'
import { type ApprovalGate, previewOf } from './approval.ts'
import { fail } from './errors.ts'
import type { Locks } from './locks.ts'
import type { Audit, AuditStory, Decision, Policy } from './policy.ts'
import type { JobRef, Tool, ToolCall, ToolContext, ToolErrorCode, ToolResult } from './tool.ts'
import { checkInput } from './tool-input.ts'

/** The session's own record of a call; absent for calls that belong to another call (launchers, plugins). */
export interface Journal {
  /** Durable before the call runs. */
  started(call: ToolCall, tool: Tool): Promise<void>
  /** Durable before the effect of a tool that announces it; the newest of both counts. */
  begun(call: ToolCall, tool: Tool, job: JobRef | null): Promise<void>
  /** Durable before the result reaches a model. */
  finished(call: ToolCall, result: ToolResult): Promise<void>
}

/** What the caller's side knows of a call. Nothing here comes from a payload. */
export type CallContext = Omit<ToolContext, 'callId' | 'clock' | 'streams' | 'joins' | 'begins'> & {
  journal: Journal | null
  /** Absent: nobody is asked. */
  approval?: ApprovalGate
  /** What this run alone is offered; it touches nothing outside the session, so no policy decides about it. */
  runTools?: readonly Tool[]
}

export interface Pipeline {
  readonly tools: ReadonlyMap<string, Tool>
  /**
   * Bad input, denials, failures and aborts are results. Throws only `audit` and `storage`: what could not be written
   * down does not run, and the run that asked for it ends.
   */
  runCall(call: ToolCall, context: CallContext): Promise<ToolResult>
}

export type PipelineParts = {
  tools: readonly Tool[]
  policy: Policy
  audit: Audit
  clock: Clock
  /** Process-wide, so that two sessions on one sandbox wait for each other's writes. */
  locks: Locks
}

export function createPipeline(parts: PipelineParts): Pipeline {
  const tools = new Map(parts.tools.map(tool => [tool.name, tool]))
  const { policy, audit, clock, locks } = parts

  async function runCall(call: ToolCall, context: CallContext): Promise<ToolResult> {
    const story: AuditStory = {
      callId: call.callId,
      name: call.name,
      input: call.input,
      origin: call.origin,
      ...(call.parent === undefined ? {} : { parent: call.parent }),
    }
    const deny = async (decision: Decision & { effect: 'deny' }, code: ToolErrorCode) => {
      await audited(() => audit.end(story, decision, null), call.name)
      const refusal = errorResult(code, decision.reason, { by: decision.by, rule: decision.rule })
      await context.journal?.finished(call, refusal)
      return refusal
    }

    const own = context.runTools?.find(one => one.name === call.name)
    const decision: Decision = own ? { effect: 'allow', rule: 'of this run' } : policy.decide(call)
    const tool = own ?? tools.get(call.name)
    // A tool that the caller may not have is refused as such before it is said whether it exists.
    if (decision.effect === 'deny' && (tool || call.origin !== 'model')) return deny(decision, 'denied')
    if (!tool) return deny(invalid('unknown_tool', unknownTool(call.name, tools.keys())), 'unknown_tool')
    const checked = checkInput(tool, call.input)
    if (!checked.ok) return deny(invalid('schema', checked.text), 'invalid_input')
    if (decision.effect === 'deny') return deny(decision, 'denied')

    const validCall: ToolCall = { ...call, input: checked.input }
    const refused = await approved(tool, validCall, context)
    if (refused) return deny(refused.decision, refused.code)
    await audited(() => audit.start(story, decision), call.name)
    // What is joined has begun: the record that says so stays the newest.
    if (!call.joins) await context.journal?.started(validCall, tool)
    const startedAt = clock.monotonic()
    const result = await execute(tool, validCall, context)
    await audited(
      () =>
        audit.end(story, decision, {
          outcome: result.outcome === 'done' ? (result.isError ? 'failed' : 'done') : result.outcome,
          durationMs: Math.round(clock.monotonic() - startedAt),
          exitCode: typeof result.details.exit_code === 'number' ? result.details.exit_code : null,
          outputBytes: bytesOf(result.content),
        }),
      call.name,
    )
    await context.journal?.finished(validCall, result)
    return result
  }

  /** Null where the call may run. What is joined was allowed when it began; a person's own command is their decision. */
  async function approved(tool: Tool, call: ToolCall, context: CallContext) {
    const { approval, signal } = context
    if (!approval || call.joins || call.origin === 'user' || !approval.needs(tool, call.input)) return null
    const refused = (rule: string, reason: string, code: ToolErrorCode) => {
      const decision = { effect: 'deny', by: 'approval', rule, reason } as const
      return { decision, code }
    }
    try {
      const preview = await previewOf(tool, call, { ...contextOf(call, context), begins: async () => {} })
      const answer = await approval.ask(call, preview, signal)
      if (!answer.allow) return refused(answer.why, answer.text, 'denied')
      if (await preview.stillHolds(signal)) return null
      const text = `${preview.touches} changed after this call was allowed; it was not run. Look again, then repeat it`
      return refused('stale', text, 'stale')
    } catch (error) {
      if (signal.aborted) return refused('cancelled', '[interrupted before it was allowed]', 'interrupted')
      return refused('no_preview', `it could not be asked about: ${messageOf(error)}`, 'denied')
    }
  }

  const contextOf = (call: ToolCall, context: CallContext) => ({
    ...context,
    callId: call.callId,
    clock,
    ...(call.cwd === undefined ? {} : { cwd: call.cwd }),
    ...(call.streams === undefined ? {} : { streams: call.streams }),
    ...(call.joins === undefined ? {} : { joins: call.joins }),
  })

  async function execute(tool: Tool, call: ToolCall, context: CallContext): Promise<ToolResult> {
    const unwritten: unknown[] = []
    const begins = async (job: JobRef | null) => {
      try {
        await context.journal?.begun(call, tool, job)
      } catch (error) {
        unwritten.push(error)
        throw error
      }
    }
    const result = await executed(tool, call, { ...context, begins }).catch((error: unknown) =>
      context.signal.aborted ? interrupted() : thrown(error),
    )
    // It did not begin, and what can not be written down ends the run.
    for (const error of unwritten) throw error
    return result
  }

  async function executed(
    tool: Tool,
    call: ToolCall,
    context: CallContext & Pick<ToolContext, 'begins'>,
  ): Promise<ToolResult> {
    using _held = await locked(tool, call.input, context)
    context.signal.throwIfAborted()
    return await tool.run(call.input, { ...contextOf(call, context), begins: context.begins })
  }

  async function locked(tool: Tool, input: unknown, context: CallContext) {
    const lock = tool.lock?.(input)
    if (!lock) return null
    const path = lock.path.startsWith('/') ? lock.path : `${context.cwd}/${lock.path}`
    const release = await locks.acquire(`${context.hands.id}\0${path}`, lock.mode, context.signal)
    return { [Symbol.dispose]: release }
  }

  return { tools, runCall }
}

/** A result that says what failed; `text` is what the model reads. */
export function errorResult(
  code: ToolErrorCode,
  text: string,
  details: Readonly<Record<string, unknown>> = {},
): ToolResult {
  return {
    content: [{ type: 'text', text }],
    isError: true,
    outcome: 'done',
    details: { ...details, code },
  }
}

/** The result of a call that an abort ended, or that never began because of one. */
export function interrupted(text = '[interrupted]'): ToolResult {
  return { ...errorResult('interrupted', text), outcome: 'interrupted' }
}

const invalid = (rule: string, reason: string) =>
  ({ effect: 'deny', by: 'validation', rule, reason }) as const

function unknownTool(name: string, known: Iterable<string>): string {
  const names = [...known]
  const near = nearest(name, names)
  return `unknown tool ${JSON.stringify(name)}; ${near.length > 0 ? `did you mean ${near.join(' or ')}?` : `there are: ${names.join(', ')}`}`
}

function thrown(error: unknown): ToolResult {
  if (!(error instanceof BeigeError)) return errorResult('internal', `the tool failed: ${messageOf(error)}`)
  return errorResult('endpoint', explain(error), { cause: error.code, ...error.data })
}

async function audited(write: () => Promise<void>, tool: string): Promise<void> {
  try {
    await write()
  } catch (error) {
    if (isError(error, ...APPEND_FAILURES)) throw error
    throw fail('audit', { tool, reason: messageOf(error) }, error)
  }
}

function bytesOf(content: readonly ResultBlock[]): number {
  let bytes = 0
  for (const block of content)
    bytes += block.type === 'text' ? Buffer.byteLength(block.text) : block.data.length
  return bytes
}
