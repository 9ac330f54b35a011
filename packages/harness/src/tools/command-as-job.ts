/**
 * Runs a command as a job of the endpoint, named by its call. What is silent for long, runs past its timeout or was asked for
 * in the background gets a number and goes on; nothing is killed by that. What a former owner of the session began is joined.
 */
import { isError, messageOf } from '@beige/protocol'
import type { Command, ExecChunk, ExecClient, ExecEnd } from '@beige/sandbox'
import type { JobBook, RunningCommand } from '../jobs/job-book.ts'
import { createJobSink, type JobSink } from '../jobs/job-sink.ts'
import { durationText } from '../jobs/job-texts.ts'
import { spillPath } from '../output/index.ts'
import type { JobRef, ToolContext, ToolResult } from '../tool.ts'
import { errorResult } from '../tool-pipeline.ts'
import { ended, failed, NO_SUCH_DIRECTORY, result, type Said } from './command-result.ts'
import type { Place } from './paths.ts'

const STOP_MS = 15_000 // for the endpoint to say that nothing of it is left
const REJOIN_TRIES = 3
const REJOIN_MS = 500
export const TTL_S = 24 * 3600 // its end is kept for a successor that comes late

/** How a model goes on with a job, in the names of its tools. */
export type JobWords = {
  goOn: (job: number) => string
  nothingToWrite: string
  /** Its stdin takes nothing. */
  closed: (job: number) => string
}

export type CommandRun = {
  place: Place
  command: Command
  /** One line, for lists and notices. */
  shown: string
  timeoutMs: number
  background: boolean
  words: JobWords
  /** Whether its directory is not there. */
  isMissing(): Promise<boolean>
}

type Outcome =
  | { kind: 'ended'; end: ExecEnd }
  | { kind: 'failed'; error: unknown }
  | { kind: 'aborted' }
  | { kind: 'goes on'; why: string }

export async function runAsJob(run: CommandRun, context: ToolContext, jobs: JobBook): Promise<ToolResult> {
  const { exec, generation, path: cwd } = run.place
  const { clock, signal, joins } = context
  if (joins && joins.instance !== generation) return unknown('its sandbox was started anew meanwhile')
  if (!joins && run.background && jobs.isFull()) return full(jobs)
  const job: JobRef = joins ?? { scope: jobs.scope, id: context.callId, instance: generation }
  if (!joins) await context.begins(job)

  const sink = createJobSink(job.id, () => clock.monotonic(), context.progress)
  const startedAt = clock.now()
  const reading = new AbortController()
  const started = Promise.withResolvers<void>()
  const endOfJob = joins
    ? joined(exec, run.command, job, sink, jobs, reading.signal)
    : begun(exec, run.command, job, sink, jobs, started.resolve, reading.signal)
  if (joins) started.resolve()
  const settled = endOfJob.then(
    (end): Outcome => ({ kind: 'ended', end }),
    (error: unknown): Outcome => ({ kind: 'failed', error }),
  )
  const over = new AbortController()
  const abort = Promise.withResolvers<Outcome>()
  const onAbort = () => abort.resolve({ kind: 'aborted' })
  signal.addEventListener('abort', onAbort, { once: true })
  if (signal.aborted) onAbort()
  const goesOn = started.promise.then(() => whyItGoesOn(run, sink, context, jobs, over.signal))
  goesOn.catch(() => {}) // its wait ends with the call
  const outcome = await Promise.race([settled, abort.promise, goesOn])
  signal.removeEventListener('abort', onAbort)
  over.abort()

  switch (outcome.kind) {
    case 'ended': {
      const hasNoDirectory = outcome.end.exitCode === NO_SUCH_DIRECTORY && (await run.isMissing())
      return ended(outcome.end, saidOf(sink, job), cwd, jobs.settings.lifetimeMs, hasNoDirectory)
    }
    case 'failed':
      if (joins && !signal.aborted) return unknown(messageOf(outcome.error))
      return failed(outcome.error, saidOf(sink, job), cwd, signal)
    case 'aborted': {
      reading.abort()
      await settled
      return interruptedCommand(await isKilled(exec, job), saidOf(sink, job), cwd)
    }
    case 'goes on': {
      if (jobs.isFull()) {
        reading.abort()
        await settled
        await isKilled(exec, job)
        const end = { exitCode: null, signal: null, timedOut: true, heldPipes: false }
        return ended(end, saidOf(sink, job), cwd, run.timeoutMs, false)
      }
      const numbered = await jobs.adopt({
        ...{ name: job, instance: job.instance, command: run.shown, startedAt, exec, sink },
        ...{ ended: endOfJob, letGo: () => reading.abort() },
      } satisfies RunningCommand)
      const note = `[running as job ${numbered.number}${outcome.why}; ${run.words.goOn(numbered.number)}]`
      return result(saidOf(sink, job), [note], {
        isError: false,
        outcome: 'done',
        details: { cwd, exit_code: null, job: numbered.number },
      })
    }
    default:
      return outcome satisfies never
  }
}

async function begun(
  exec: ExecClient,
  command: Command,
  { id, scope, instance }: JobRef,
  sink: JobSink,
  { settings, clock }: JobBook,
  onStart: () => void,
  signal: AbortSignal,
): Promise<ExecEnd> {
  const take = (chunk: ExecChunk) => sink.take(chunk)
  try {
    return await exec.startJob(
      { ...command, timeout_ms: settings.lifetimeMs },
      {
        id,
        scope,
        instance,
        keep: settings.keep,
        ttlS: TTL_S,
        ...(settings.notify && { notify: settings.notify() }),
      },
      { onStart, onChunk: take },
      signal,
    )
  } catch (error) {
    if (!settings.keep || !isError(error, 'endpoint_lost')) throw error
    // A kept job goes on when the way to it breaks.
    for (let tries = 0; tries < REJOIN_TRIES; tries++) {
      try {
        return await exec.followJob({ id, scope }, sink.offsets, take, signal)
      } catch (next) {
        if (!isError(next, 'endpoint_lost')) throw error
        await clock.sleep(REJOIN_MS, signal)
      }
    }
    throw error
  }
}

/** Running or finished, it is attached to; one that the endpoint never saw is begun, on that instance alone. */
async function joined(
  exec: ExecClient,
  command: Command,
  job: JobRef,
  sink: JobSink,
  jobs: JobBook,
  signal: AbortSignal,
): Promise<ExecEnd> {
  try {
    return await exec.followJob(job, { stdout: 0, stderr: 0 }, chunk => sink.take(chunk), signal)
  } catch (error) {
    if (!isError(error, 'not_found')) throw error
    return await begun(exec, command, job, sink, jobs, () => {}, signal)
  }
}

/** Resolves when it is to get a number; while there are too many jobs, only its timeout counts, and ends it. */
async function whyItGoesOn(
  run: CommandRun,
  sink: JobSink,
  { clock, steered }: ToolContext,
  jobs: JobBook,
  over: AbortSignal,
): Promise<Outcome> {
  if (run.background) return { kind: 'goes on', why: '' }
  const { silentMs, steeredMs } = jobs.settings
  const from = clock.monotonic()
  let isSteered = false
  const steer = steered?.(over).then(() => {
    isSteered = true
  })
  steer?.catch(() => {})
  for (;;) {
    const now = clock.monotonic()
    const left = run.timeoutMs - (now - from)
    const quiet = silentMs - (now - sink.lastAt)
    if (left <= 0) return { kind: 'goes on', why: ` past its timeout of ${durationText(run.timeoutMs)}` }
    if (quiet <= 0 && !jobs.isFull()) {
      return { kind: 'goes on', why: ` after ${durationText(silentMs)} without output` }
    }
    if (isSteered && now - from >= steeredMs && !jobs.isFull()) {
      return { kind: 'goes on', why: ` after ${durationText(now - from)}, since somebody has a word for you` }
    }
    const patience = isSteered ? Math.max(steeredMs - (now - from), jobs.isFull() ? steeredMs : 0) : left
    const woken = new AbortController()
    const waiting = clock.sleep(
      Math.min(left, patience, quiet > 0 ? quiet : silentMs),
      AbortSignal.any([over, woken.signal]),
    )
    await (steer && !isSteered ? Promise.race([waiting, steer]) : waiting).finally(() => woken.abort())
  }
}

async function isKilled(exec: ExecClient, job: JobRef): Promise<boolean> {
  try {
    await exec.killJob(job, AbortSignal.timeout(STOP_MS))
    return true
  } catch (error) {
    return isError(error, 'not_found', 'gone')
  }
}

function interruptedCommand(isEnded: boolean, said: Said, cwd: string): ToolResult {
  const note = isEnded
    ? '[interrupted]'
    : '[interrupted; the sandbox did not confirm that the command has ended]'
  return result(said, [note], {
    isError: true,
    outcome: 'interrupted',
    details: { cwd, exit_code: null, code: 'interrupted' },
  })
}

function saidOf(sink: JobSink, { id }: JobRef): Said {
  const { totalBytes } = sink
  const report = sink.report()
  return { ...report, totalBytes, ...(report.missingBytes > 0 ? { spill: spillPath(id) } : {}) }
}

function unknown(why: string): ToolResult {
  const text = `[outcome unknown: the owner of this session stopped while the command was running, and ${why}. It may have had its effect; look before you repeat it]`
  return { ...errorResult('unknown_outcome', text), outcome: 'unknown' }
}

function full(jobs: JobBook): ToolResult {
  const running = [...jobs.all.values()].filter(job => !job.ended).length
  return errorResult('limit', `${running} jobs are running, which is the most: wait for one, or kill one`)
}
