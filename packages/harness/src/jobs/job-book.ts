/**
 * The background work of one session in this process: which commands became numbered jobs, what they said since it was last
 * told, and that they ended. What it knows durably is in the session's notes; whoever owns the session next goes on from there.
 */
import { type Clock, type ExecJobState, isError } from '@beige/protocol'
import type { ExecClient, ExecEnd, JobName, JobNotify, JobOffsets } from '@beige/sandbox'
import { APPEND_FAILURES } from '@beige/sessions'
import { fail } from '../errors.ts'
import type { Session } from '../session.ts'
import type { Hands } from '../tool.ts'
import { createJobSink, type JobSink } from './job-sink.ts'
import { dueNotices } from './job-texts.ts'
import { reportedEnd, runningJob } from './reported-end.ts'
import {
  endedRecord,
  type JobEnd,
  type NumberedJob,
  nextNumber,
  noticeRecord,
  numberedRecord,
  runningJobs,
} from './session-notes.ts'

export const MAX_RUNNING_JOBS = 64
const DEFAULT_SILENT_MS = 60_000
const DEFAULT_STEERED_MS = 10_000
export const DEFAULT_LIFETIME_MS = 24 * 3600_000
const WATCH_AGAIN_MS = 500
const REPORT_MS = 5_000 // for the output of a job whose end was reported
const STOP_MS = 15_000 // for the endpoint to say that nothing of a job is left
const RESTARTED = 'its sandbox was restarted'

export type JobSettings = {
  /** A command that says nothing for so long becomes a job. */
  silentMs: number
  /** One that has run so long becomes a job when somebody has a word for the model. */
  steeredMs: number
  /** When a command that nobody ended is killed. */
  lifetimeMs: number
  /** True where the session is durable: commands go on when their agent dies, and its successor joins them. */
  keep: boolean
  /** Who is told by the endpoint when a command has ended that nobody here waits for; asked anew for each command. */
  notify?: () => JobNotify
}

/** A command that runs as a job of the endpoint and may get a number. */
export type RunningCommand = {
  name: JobName
  instance: string
  command: string
  startedAt: number
  exec: ExecClient
  sink: JobSink
  /** Reads on by itself; rejects when it can not be read any more. */
  ended: Promise<ExecEnd>
  /** Ends the reading, not the job. */
  letGo(): void
}

export interface JobBook {
  readonly settings: JobSettings
  readonly clock: Clock
  /** The scope of its jobs: the session's id. */
  readonly scope: string
  readonly all: ReadonlyMap<number, NumberedJob>
  isFull(): boolean
  /** Makes a running command a numbered job, durably. One that has a number already keeps it. */
  adopt(command: RunningCommand): Promise<NumberedJob>
  /**
   * Resolves with the job as it is when it has ended, after `timeoutMs`, or when `enough` fires; rejects when `signal` fires.
   * Its end is told.
   */
  wait(number: number, timeoutMs: number, signal: AbortSignal, enough?: AbortSignal): Promise<Reported>
  /** Resolves when nothing of it runs. Its end is told. */
  kill(number: number, signal: AbortSignal): Promise<Reported>
  /** Resolves when the job has taken all of it; `end` closes its stdin afterwards. Rejects with `conflict` once it is closed. */
  write(number: number, bytes: Uint8Array, how: { end: boolean }, signal: AbortSignal): Promise<void>
  /**
   * The endpoint says that a job has ended. Repeats, and jobs that nobody numbered, change nothing: whoever is attached to
   * such a command has its end from its own connection. Rejects with `storage` where it could not be written down.
   */
  reported(state: ExecJobState, signal: AbortSignal): Promise<void>
  /** Watches what a former owner left, so that its end is known here when it comes. Never rejects for what is not there. */
  watch(signal: AbortSignal): Promise<void>
  /** True where the model is still to be told of something. */
  hasNews(): boolean
  /** At a boundary: watches what a former owner left, and records what the model is to be told. */
  boundary(signal: AbortSignal): Promise<void>
  /** Stops watching. What is kept runs on. */
  close(): Promise<void>
}

/** A job with its output since the last report. */
export type Reported = { job: NumberedJob; output: string; totalBytes: number }

type Watch = {
  sink: JobSink
  letGo(): void
  /** Resolves when its end is recorded, or it can not be watched any more. */
  over: Promise<void>
  told: boolean
}

export function createJobBook(parts: {
  session: Session
  hands: Hands
  clock: Clock
  settings?: Partial<JobSettings>
  /** Called when a job got its number, and when its end is recorded. */
  changed?: (job: NumberedJob) => void
}): JobBook {
  const { session, hands, clock, changed = () => {} } = parts
  const settings: JobSettings = {
    silentMs: DEFAULT_SILENT_MS,
    steeredMs: DEFAULT_STEERED_MS,
    lifetimeMs: DEFAULT_LIFETIME_MS,
    keep: true,
    ...parts.settings,
  }
  const watches = new Map<number, Watch>()
  let closed = false

  const jobOf = (number: number): NumberedJob => {
    const job = session.notes().jobs.get(number)
    if (!job) throw fail('no_such_job', { number })
    return job
  }

  async function recordEnd(number: number, end: JobEnd, durationMs: number | null, watch: Watch | null) {
    if (jobOf(number).ended) return
    const tail = watch?.sink.tail() ?? ''
    await session.append(endedRecord(number, { end, durationMs, tail, told: watch?.told ?? false }))
    changed(jobOf(number))
  }

  function watch(job: NumberedJob, sink: JobSink, ended: Promise<ExecEnd>, letGo: () => void): Watch {
    const watching: Watch = { sink, letGo, told: false, over: Promise.resolve() }
    const over = async () => {
      try {
        const end = await ended
        if (closed) return
        await recordEnd(job.number, endOf(end), clock.now() - job.startedAt, watching)
      } catch (error) {
        // What can not be read, or not be written now, is asked for again at the next boundary.
        watches.delete(job.number)
        if (isError(error, 'gone', 'not_found') && !closed) {
          await recordEnd(job.number, { how: 'gone', reason: error.message }, null, null).catch(() => {})
        }
      }
    }
    watching.over = over()
    watches.set(job.number, watching)
    return watching
  }

  /** The watch of a job that runs; null where it has ended, maybe just now. */
  async function watched(job: NumberedJob, signal: AbortSignal): Promise<Watch | null> {
    const known = watches.get(job.number)
    if (known || job.ended) return known ?? null
    const { exec, generation } = await hands.open(signal)
    const meanwhile = watches.get(job.number)
    if (meanwhile) return meanwhile
    if (generation !== job.instance) {
      await recordEnd(job.number, { how: 'gone', reason: RESTARTED }, null, null)
      return null
    }
    const sink = createJobSink(
      job.id,
      () => clock.monotonic(),
      () => {},
    )
    const reading = new AbortController()
    const from: JobOffsets = { stdout: 0, stderr: 0 }
    const ended = exec.followJob(nameOf(job), from, chunk => sink.take(chunk), reading.signal)
    return watch(job, sink, ended, () => reading.abort())
  }

  async function watchAll(signal: AbortSignal): Promise<void> {
    for (const job of runningJobs(session.notes())) {
      // A place that can not be opened now is no reason to fail a run that may not need it.
      await watched(job, signal).catch(error => {
        if (isError(error, ...APPEND_FAILURES)) throw error
      })
    }
  }

  async function endOrTimeout(
    number: number,
    one: Watch,
    ms: number,
    signal: AbortSignal,
    enough: AbortSignal,
  ): Promise<void> {
    one.told = true // should it end now, the call that waits says so
    const over = new AbortController()
    try {
      const stop = AbortSignal.any([signal, enough, over.signal])
      await Promise.race([one.over, clock.sleep(Math.max(0, ms), stop)])
    } catch (error) {
      if (signal.aborted || !enough.aborted) throw error
    } finally {
      over.abort()
      if (!jobOf(number).ended) one.told = false
    }
  }

  function reported(number: number, one: Watch | null): Reported {
    const { text = '' } = one?.sink.report() ?? {}
    return { job: jobOf(number), output: text, totalBytes: one?.sink.totalBytes ?? 0 }
  }

  return {
    settings,
    clock,
    scope: session.log.id,
    get all() {
      return session.notes().jobs
    },
    isFull: () => runningJobs(session.notes()).length >= MAX_RUNNING_JOBS,
    async adopt({ name, instance, command, startedAt, exec, sink, ended, letGo }) {
      const notes = session.notes()
      let job = [...notes.jobs.values()].find(one => one.id === name.id)
      if (!job) {
        const number = nextNumber(notes)
        await session.append(numberedRecord({ number, ...name, instance, command, startedAt }))
        job = jobOf(number)
        changed(job)
      }
      // Where it has just ended there is nothing to keep, and where it was kept from the start nothing to ask.
      if (!settings.keep) await exec.keepJob(name, AbortSignal.timeout(STOP_MS)).catch(ignoreEnded)
      sink.quiet()
      watch(job, sink, ended, letGo)
      return job
    },
    async wait(number, timeoutMs, signal, enough = new AbortController().signal) {
      const until = clock.monotonic() + timeoutMs
      for (;;) {
        const one = await watched(jobOf(number), signal)
        if (!one || jobOf(number).ended) return reported(number, one)
        await endOrTimeout(number, one, until - clock.monotonic(), signal, enough)
        const left = until - clock.monotonic()
        if (jobOf(number).ended || left <= 0 || enough.aborted) return reported(number, one)
        await clock.sleep(Math.min(left, WATCH_AGAIN_MS), signal) // the way to it broke
      }
    },
    async kill(number, signal) {
      const job = jobOf(number)
      const one = await watched(job, signal)
      if (!one || jobOf(number).ended) return reported(number, one)
      one.told = true
      const { exec } = await hands.open(signal)
      await exec.killJob(nameOf(job), AbortSignal.timeout(STOP_MS))
      await one.over
      return reported(number, one)
    },
    async write(number, bytes, how, signal) {
      const { exec } = await hands.open(signal)
      await exec.writeJobStdin(nameOf(jobOf(number)), bytes, signal, how)
    },
    async reported(state, signal) {
      const job = runningJob(session.notes(), state)
      if (!job) return
      // What it said last is read where it can be.
      const limit = AbortSignal.any([signal, AbortSignal.timeout(REPORT_MS)])
      const one = await watched(job, limit).catch(() => null)
      await Promise.race([one?.over, clock.sleep(one ? REPORT_MS : 0, signal)])
      const { end, durationMs } = reportedEnd(state)
      await recordEnd(job.number, end, durationMs, one)
    },
    watch: watchAll,
    hasNews: () => dueNotices(session.notes()).length > 0,
    async boundary(signal) {
      await watchAll(signal)
      const { leaf } = session.state()
      const due = dueNotices(session.notes())
      if (due.length > 0) await session.append(...due.map(one => noticeRecord({ ...one, after: leaf })))
    },
    async close() {
      closed = true
      for (const one of watches.values()) one.letGo()
      await Promise.all([...watches.values()].map(one => one.over))
    },
  }
}

function nameOf({ id, scope }: NumberedJob): JobName {
  return { id, scope }
}

function endOf({ exitCode, signal, timedOut }: ExecEnd): JobEnd {
  return { how: 'exited', exit_code: exitCode, signal, timed_out: timedOut }
}

function ignoreEnded(error: unknown): void {
  if (!isError(error, 'conflict', 'not_found', 'gone')) throw error
}
