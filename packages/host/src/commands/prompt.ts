/** `prompt`: durable, then acknowledged, then run. A repeated key answers with the first run (sessions.md). */
import { closeRun, type RunResult } from '@beige/harness'
import { type CommandOf, newEntryId, type PromptBody, type ResultBlock } from '@beige/protocol'
import { fail, serveCode } from '../errors.ts'
import type { LiveSession, RunInFlight } from '../live-session.ts'
import { runSummary } from '../run-summary.ts'
import type { Unnumbered } from '../viewers/frames.ts'
import type { Viewer } from '../viewers/viewer.ts'
import type { CommandContext, Handler } from './handler.ts'

type PromptCommand = CommandOf<'prompt'>
type Names = CommandContext['names'] & ReturnType<LiveSession['originOf']>

/** Resolves when the final response has been sent. */
export const prompt: Handler<'prompt'> = async (command, context) => {
  const { live, viewer } = context
  const names = { ...context.names, ...live.originOf(viewer) }
  const key = command.idempotency_key
  const first = key === undefined ? undefined : live.session.state().keys.get(key)
  if (first !== undefined) {
    if (!sameMessage(live, first, command)) throw keyConflict(key)
    context.answer({ type: 'ack', ...names, run_id: first, duplicate: true })
    const run = live.run ?? goneOnWith(live)
    if (run?.id === first) await endOf(live, run)
    respond(context, names, first, context.answer)
    return null
  }
  if (starting.has(live) || live.run) throw fail('busy', { run_id: live.run?.id ?? 'starting' })
  const left = goneOnWith(live)
  if (left) throw fail('busy', { run_id: left.id })
  const run = await begin(live, command, viewer, names)
  const result = await endOf(live, run)
  respond(context, names, run.id, frame => live.frames.numbered(frame), result.error?.advice)
  return null
}

/** Rejects where its end could not be written: then it has none, and whoever asks again goes on with it. */
async function endOf(live: LiveSession, run: RunInFlight): Promise<RunResult> {
  const result = await run.ended
  if (result.error && !live.session.state().runs.get(run.id)?.end) throw result.error
  return result
}

/** A run that this very process had to leave, because its end could not be written (H03). */
function goneOnWith(live: LiveSession): RunInFlight | null {
  const open = live.session.state().openRun
  if (!open || starting.has(live) || live.setup.openRun === 'close') return null
  return live.begin(open.id, true)
}

const keyConflict = (key: string | undefined) =>
  fail('conflict', { key, reason: `idempotency key ${key} was used for another message` })

// Between the check for a run in flight and its beginning lies a write: two prompts must not both pass (H55).
const starting = new WeakSet<LiveSession>()

async function begin(
  live: LiveSession,
  command: PromptCommand,
  viewer: Viewer,
  names: Names,
): Promise<RunInFlight> {
  starting.add(live)
  try {
    const { session, setup } = live
    const left = session.state().openRun
    if (left) await closeRun(session, left.id)
    const context = await setup.promptContext?.(AbortSignal.timeout(PROMPT_CONTEXT_MS))
    const id = newEntryId(live.clock, live.random)
    const body: PromptBody = {
      type: 'prompt',
      id,
      parent_id: session.state().leaf,
      message: messageOf(command),
      origin: viewer.origin,
      ...(context === undefined ? {} : { context }),
      ...(command.idempotency_key === undefined ? {} : { idempotency_key: command.idempotency_key }),
    }
    await session.append(body)
    // Only now: its receiver may forget the prompt (H07).
    live.frames.numbered({ type: 'ack', ...names, run_id: id })
    return live.begin(id, false)
  } finally {
    starting.delete(live)
  }
}

const PROMPT_CONTEXT_MS = 10_000

function respond(
  { live, warnings }: CommandContext,
  names: Names,
  runId: RunInFlight['id'],
  send: (frame: Unnumbered) => void,
  advice = '',
): void {
  const summary = runSummary(live.session.state(), runId)
  if (!summary) throw fail('bad_request', { reason: `run ${runId} has no end` })
  const success = summary.outcome === 'done' || summary.outcome === 'refused'
  const failed = {
    code: serveCode(summary.code ?? summary.outcome),
    error: summary.error ?? `the run ${summary.outcome}`,
    ...(advice === '' ? {} : { advice }),
  }
  send({
    type: 'response',
    ...names,
    success,
    data: summary,
    ...(success ? {} : failed),
    ...(warnings.length > 0 ? { warnings: [...warnings] } : {}),
  })
}

function messageOf(command: PromptCommand): ResultBlock[] {
  const images = command.images ?? []
  return [
    { type: 'text', text: command.message },
    ...images.map(image => ({ type: 'image' as const, media_type: image.media_type, data: image.data })),
  ]
}

function sameMessage(live: LiveSession, runId: RunInFlight['id'], command: PromptCommand): boolean {
  const entry = live.session.state().entries.find(one => one.id === runId)
  if (entry?.kind !== 'prompt') return true // on another branch: the key alone must do
  return JSON.stringify(entry.body.message) === JSON.stringify(messageOf(command))
}
