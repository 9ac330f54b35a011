/** `prompt`: durable, then acknowledged, then run. A repeated key answers with the first run (sessions.md). */
import { checkOutputForm, type OutputForm, type RunResult } from '@beige/harness'
import { type CommandOf, messageOf } from '@beige/protocol'
import { fail, serveCode } from '../errors.ts'
import type { LiveSession, RunInFlight } from '../live-session.ts'
import { runSummary } from '../run-summary.ts'
import type { Unnumbered } from '../viewers/frames.ts'
import type { CommandContext, Handler } from './handler.ts'
import { queue } from './queue.ts'
import { contentOf, goneOnWith, isBusy, isSame, keyConflict, runOfKey, startRun } from './start-run.ts'

type Names = CommandContext['names'] & ReturnType<LiveSession['originOf']>

/** Resolves when the final response has been sent. */
export const prompt: Handler<'prompt'> = async (command, context) => {
  const { live, viewer } = context
  const output = outputOf(command)
  const names = { ...context.names, ...live.originOf(viewer) }
  const key = command.idempotency_key
  const found = runOfKey(live, key)
  const first = found instanceof Promise ? await found : found
  if (first !== undefined) {
    if (!isSameMessage(live, first, command)) throw keyConflict(key)
    context.answer({ type: 'ack', ...names, run_id: first, duplicate: true })
    const run = live.run ?? goneOnWith(live)
    if (run?.id === first) await endOf(live, run)
    respond(context, names, first, context.answer)
    return null
  }
  const left = goneOnWith(live)
  if (left) throw fail('busy', { run_id: left.id })
  const lane = command.streaming_behavior
  if (lane !== undefined && isBusy(live)) {
    if (output) throw fail('bad_request', { reason: 'a queued message can not have an output_schema' })
    return queue(lane, command, context)
  }
  const said = { content: contentOf(command), origin: viewer.origin, key, output }
  // The ack comes only when it is durable: its receiver may forget the prompt (H07).
  const run = await startRun(live, said, id => live.frames.numbered({ type: 'ack', ...names, run_id: id }))
  const result = await endOf(live, run)
  respond(context, names, run.id, frame => live.frames.numbered(frame), result.error?.advice)
  return null
}

/** Throws `bad_request` for a schema that can not be used, before anything is written. */
function outputOf({ output_schema, output_description }: CommandOf<'prompt'>): OutputForm | undefined {
  if (output_schema === undefined) return undefined
  const form = {
    schema: output_schema,
    ...(output_description === undefined ? {} : { description: output_description }),
  }
  try {
    checkOutputForm(form)
    return form
  } catch (error) {
    throw fail('bad_request', { reason: messageOf(error) }, error)
  }
}

/** Rejects where its end could not be written: then it has none, and whoever asks again goes on with it. */
async function endOf(live: LiveSession, run: RunInFlight): Promise<RunResult> {
  const result = await run.ended
  if (result.error && !live.session.state().runs.get(run.id)?.end) throw result.error
  return result
}

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

function isSameMessage(
  live: LiveSession,
  runId: RunInFlight['id'],
  command: Parameters<typeof contentOf>[0],
): boolean {
  const entry = live.session.state().entries.find(one => one.id === runId)
  if (entry?.kind !== 'prompt') return true // on another branch: the key alone must do
  return isSame(entry.body.message, contentOf(command))
}
