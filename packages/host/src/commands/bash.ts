/**
 * `bash`: a command of the client's own, in the session's sandbox, outside of the model. It passes the tool pipeline, is
 * recorded, and is told to the model with its next prompt unless it is excluded from the context.
 */
import { interrupted, type RunResult, type ToolResult, throttledProgress } from '@beige/harness'
import {
  asCallId,
  type CommandOf,
  type EntryId,
  newCallId,
  newEntryId,
  type RecordBody,
} from '@beige/protocol'
import { fail } from '../errors.ts'
import type { LiveSession } from '../live-session.ts'
import { abort } from './abort.ts'
import type { CommandContext, Handler } from './handler.ts'
import { goOn } from './queue.ts'
import { isBusy, keyConflict } from './start-run.ts'

const BASH_KIND = 'beige.bash'
const TOOL = 'bash'
const ENDED: RunResult = { outcome: 'done', steps: 0, stopReason: 'end_turn', text: '', error: null }

type Outcome = Record<string, unknown>

export const bash: Handler<'bash'> = async (command, context) => {
  const { live, viewer } = context
  const names = { ...context.names, ...live.originOf(viewer) }
  const key = command.idempotency_key
  const known = key === undefined ? null : ranBefore(live, key)
  if (known) {
    if (known.command !== command.command) throw keyConflict(key)
    context.answer({ type: 'ack', ...names, run_id: known.id, duplicate: true })
    if (live.run?.id === known.id) await live.run.ended
    const data = ranBefore(live, key ?? '')?.outcome ?? UNKNOWN
    context.answer({ type: 'response', ...names, success: true, data })
    return null
  }
  if (isBusy(live)) throw fail('busy', { run_id: live.run?.id ?? 'starting' })
  if (!live.setup.pipeline.tools.has(TOOL))
    throw fail('unsupported', { command: TOOL, reason: 'no such tool here' })
  const id = newEntryId(live.clock, live.random)
  const over = Promise.withResolvers<Outcome>()
  const run = live.occupy(id, 'bash', async signal => {
    await record(live, {
      event: 'started',
      id,
      command: command.command,
      ...(key === undefined ? {} : { key }),
    })
    live.frames.numbered({ type: 'ack', ...names, run_id: id })
    over.resolve(await ran(live, id, command, signal))
    return ENDED
  })
  run.ended.catch(error => over.reject(error))
  const data = await over.promise
  await run.ended
  live.frames.numbered({ type: 'response', ...names, success: true, data, ...warned(context) })
  goOn(live)
  return null
}

const warned = ({ warnings }: CommandContext) => (warnings.length > 0 ? { warnings: [...warnings] } : {})
const UNKNOWN: Outcome = {
  result: '[outcome unknown: the owner of this session stopped while it ran]',
  ...{
    is_error: true,
    exit_code: null,
    signal: null,
    cancelled: false,
    truncated: false,
    full_output_path: null,
  },
}

async function ran(
  live: LiveSession,
  id: EntryId,
  command: CommandOf<'bash'>,
  signal: AbortSignal,
): Promise<Outcome> {
  const callId = newCallId(live.clock, live.random)
  const input = {
    command: command.command,
    ...(command.cwd === undefined ? {} : { cwd: command.cwd }),
    ...(command.timeout_ms === undefined ? {} : { timeout_ms: command.timeout_ms }),
  }
  live.tell(id, { kind: 'tool_start', id: callId, name: TOOL, input })
  const result = await live.setup.pipeline
    .runCall(
      { callId: asCallId(callId), name: TOOL, input, origin: 'user' },
      {
        sessionId: live.id,
        hands: live.hands,
        cwd: live.setup.workdir,
        signal,
        env: live.setup.callEnv(callId, id),
        seenFiles: new Map(),
        journal: null,
        progress: throttledProgress(live.clock, (snapshot, bytes) =>
          live.tell(id, { kind: 'tool_progress', id: callId, name: TOOL, snapshot, bytes }),
        ),
      },
    )
    .catch(error => {
      if (signal.aborted) return interrupted()
      throw error
    })
  const outcome = outcomeOf(result, signal.aborted)
  const told: RecordBody[] = command.exclude_from_context ? [] : [toldTo(live, command.command, result)]
  await live.session.append(
    { type: 'custom', kind: BASH_KIND, data: { event: 'ended', id, outcome } },
    ...told,
  )
  live.tell(id, {
    ...{ kind: 'tool_end', id: callId, name: TOOL, result: [...result.content], is_error: result.isError },
    ...{ outcome: result.outcome, details: { ...result.details } },
  })
  return outcome
}

const textOf = ({ content }: ToolResult) =>
  content.map(block => (block.type === 'text' ? block.text : '')).join('')

function outcomeOf(result: ToolResult, cancelled: boolean): Outcome {
  const { exit_code = null, signal = null, spill = null, missing_bytes: missing = 0 } = result.details
  const text = textOf(result)
  return {
    ...{ result: text, is_error: result.isError, exit_code, signal, cancelled },
    ...{ truncated: spill !== null || missing !== 0, full_output_path: spill },
  }
}

function toldTo(live: LiveSession, command: string, result: ToolResult): RecordBody {
  const text = `<user_command>\n${command}\n</user_command>\n<output>\n${textOf(result)}\n</output>`
  return {
    type: 'message',
    id: newEntryId(live.clock, live.random),
    parent_id: live.session.state().leaf,
    role: 'user',
    content: [{ type: 'text', text }],
  }
}

async function record(live: LiveSession, data: Record<string, unknown>): Promise<void> {
  await live.session.append({ type: 'custom', kind: BASH_KIND, data })
}

type Ran = { id: string; command: string; outcome: Outcome | null }

/** The command that came with this key, with its outcome where that is recorded. */
function ranBefore(live: LiveSession, key: string): Ran | null {
  const events = live.session.log.records.flatMap(one =>
    one.type === 'custom' && one.kind === BASH_KIND && isObject(one.data) ? [one.data] : [],
  )
  const started = events.find(one => one.event === 'started' && one.key === key)
  if (!started) return null
  const ended = events.find(one => one.event === 'ended' && one.id === started.id)
  const outcome = isObject(ended?.outcome) ? ended.outcome : null
  return { id: String(started.id), command: String(started.command), outcome }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Answered when its processes are gone. */
export const abortBash: Handler<'abort_bash'> = async (_command, { live }) => {
  if (live.run?.kind === 'bash') await abort(live)
  return {}
}
