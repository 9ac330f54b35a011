/** The job calls of `exec/2`, over the transport of one endpoint. */
import { type ExecJobState, execJobList, execJobState, isError } from '@beige/protocol'
import { compile } from '@earendil-works/pi-schema'
import { fail } from '../errors.ts'
import type { Command, ExecEnd } from '../exec-client.ts'
import type { JobCalls, JobName, JobNotify, JobOffsets, JobStart, OnJobChunk } from '../job-calls.ts'
import { parseAnswer, refusal } from './answers.ts'
import { type Attached, bodyOf, offers, START_MS, STOP_MS, within } from './commands.ts'
import { createProgress, type FrameRules, readFrames, readFramesSoFar } from './frames.ts'
import { SILENCE_MS, type WholeAnswer, type WireRequest } from './transport.ts'

const MAX_STATE_BYTES = 4 * 1024 * 1024 // its command may be as long as a request
const MAX_LIST_BYTES = 64 * 1024 * 1024
const MAX_ERROR_BYTES = 64 * 1024
const JSON_BODY = { 'content-type': 'application/json' }

const stateSchema = compile(execJobState)
const listSchema = compile(execJobList)

/** Runs `call` as one of the client's own, on an endpoint that has been asked what it offers. */
export type Owned = <T>(
  signal: AbortSignal,
  call: (at: Attached, signal: AbortSignal) => Promise<T>,
) => Promise<T>

export function jobCalls(owned: Owned): JobCalls {
  const withJobs = <T>(signal: AbortSignal, call: (at: Attached, signal: AbortSignal) => Promise<T>) =>
    owned(signal, (at, either) => {
      if (!offers(at, 'jobs')) throw fail('no_jobs', { endpoint: at.transport.name })
      return call(at, either)
    })

  return {
    hasJobs: signal => owned(signal, async at => offers(at, 'jobs')),
    startJob: (command, job, how, signal) =>
      withJobs(signal, (at, either) => start(at, command, job, how, either)),
    followJob: (job, from, onChunk, signal) =>
      withJobs(signal, (at, either) => follow(at, job, from, onChunk, either)),
    readJob: (job, from, waitMs, onChunk, signal) =>
      withJobs(signal, (at, either) => read(at, job, from, waitMs, onChunk, either)),
    jobState: (job, signal) => withJobs(signal, (at, either) => state(at, 'GET', job, either)),
    killJob: (job, signal) => withJobs(signal, (at, either) => state(at, 'DELETE', job, either)),
    listJobs: (scope, signal) =>
      withJobs(signal, async (at, either) => {
        const path = `/jobs?scope=${encodeURIComponent(scope)}`
        const wire = { method: 'GET', path, silenceMs: SILENCE_MS, control: true } as const
        const answer = await at.transport.send(wire, either, MAX_LIST_BYTES)
        return parseAnswer(answer, listSchema, at.transport.name).jobs
      }),
    keepJob: (job, signal, notify) => withJobs(signal, (at, either) => keep(at, job, notify, either)),
    writeJobStdin: (job, bytes, signal, how) =>
      withJobs(signal, (at, either) => {
        const path = pathOf(job, '/stdin', how?.end ? '&eof=1' : '')
        // A command that does not read its stdin keeps this waiting for as long as it likes.
        return done(at, job, { method: 'POST', path, body: bytes, silenceMs: null }, either)
      }),
    killScope: (scope, signal) =>
      withJobs(signal, async (at, either) => {
        const path = `/scopes/${encodeURIComponent(scope)}`
        const wire = { method: 'DELETE', path, silenceMs: STOP_MS, control: true } as const
        const answer = await at.transport.send(wire, either, MAX_STATE_BYTES)
        if (answer.status >= 300) throw refusal(answer, at.transport.name)
      }),
  }
}

async function start(
  at: Attached,
  command: Command,
  { ttlS, ...job }: JobStart,
  { onStart, onChunk }: { onStart?: () => void; onChunk: OnJobChunk },
  signal: AbortSignal,
): Promise<ExecEnd> {
  const { transport } = at
  const body = bodyOf(at, command, true, { ...job, ...(ttlS === undefined ? {} : { ttl_s: ttlS }) })
  const progress = createProgress()
  const connection = new AbortController()
  const wire = { method: 'POST', path: '', headers: JSON_BODY, body, silenceMs: SILENCE_MS } as const
  // Also where it is not kept yet: once it is, this very stream is not slowed by its reader any more.
  const rules = { from: { stdout: 0, stderr: 0 }, mayJump: true, mayBeginAnywhere: false }
  const ended = (async () => {
    const answer = await transport.begin(wire, connection.signal)
    if (answer.status !== 200) throw refused(await transport.collect(answer, MAX_ERROR_BYTES), at, job)
    return await readFrames(transport.name, answer.body, onChunk, progress, rules)
  })()
  const settled = ended.then(
    () => {},
    () => {},
  )
  progress.started.promise.then(onStart)
  const letGo = async () => {
    progress.discard = true
    if (progress.jobId === null) await within(START_MS, Promise.race([progress.started.promise, settled]))
    connection.abort()
  }
  signal.addEventListener('abort', letGo, { once: true })
  if (signal.aborted) await letGo()
  try {
    return await ended
  } catch (error) {
    throw signal.aborted ? letGoOf(job, signal) : error
  } finally {
    signal.removeEventListener('abort', letGo)
    connection.abort()
  }
}

async function follow(
  at: Attached,
  job: JobName,
  from: JobOffsets,
  onChunk: OnJobChunk,
  signal: AbortSignal,
): Promise<ExecEnd> {
  const rules: FrameRules = { from, mayJump: true, mayBeginAnywhere: true }
  return await output(at, job, offsetsIn(from), signal, body =>
    readFrames(at.transport.name, body, onChunk, createProgress(), rules),
  )
}

async function read(
  at: Attached,
  job: JobName,
  from: JobOffsets,
  waitMs: number,
  onChunk: OnJobChunk,
  signal: AbortSignal,
): Promise<ExecEnd | null> {
  const rules: FrameRules = { from, mayJump: true, mayBeginAnywhere: true }
  return await output(at, job, `${offsetsIn(from)}&wait_ms=${waitMs}`, signal, body =>
    readFramesSoFar(at.transport.name, body, onChunk, createProgress(), rules),
  )
}

const offsetsIn = ({ stdout, stderr }: JobOffsets) => `&stdout=${stdout}&stderr=${stderr}`

async function output<T>(
  at: Attached,
  job: JobName,
  query: string,
  signal: AbortSignal,
  reader: (body: AsyncIterable<Buffer>) => Promise<T>,
): Promise<T> {
  const { transport } = at
  const connection = new AbortController()
  const either = AbortSignal.any([signal, connection.signal])
  const wire = { method: 'GET', path: pathOf(job, '/output', query), silenceMs: SILENCE_MS } as const
  try {
    const answer = await transport.begin(wire, either)
    if (answer.status !== 200) throw refused(await transport.collect(answer, MAX_ERROR_BYTES), at, job)
    return await reader(answer.body)
  } catch (error) {
    throw signal.aborted ? letGoOf(job, signal) : error
  } finally {
    connection.abort() // of a body that was not read to its end
  }
}

async function state(
  at: Attached,
  method: 'GET' | 'DELETE',
  job: JobName,
  signal: AbortSignal,
): Promise<ExecJobState> {
  const wire = { method, path: pathOf(job), silenceMs: STOP_MS, control: true } as const
  const answer = await at.transport.send(wire, signal, MAX_STATE_BYTES)
  if (answer.status !== 200) throw refused(answer, at, job)
  return parseAnswer(answer, stateSchema, at.transport.name)
}

async function keep(
  at: Attached,
  job: JobName,
  notify: JobNotify | undefined,
  signal: AbortSignal,
): Promise<void> {
  const body = JSON.stringify({ keep: true, ...(notify ? { notify } : {}) })
  const wire = { method: 'PATCH', path: pathOf(job), headers: JSON_BODY, body, control: true } as const
  await done(at, job, { ...wire, silenceMs: SILENCE_MS }, signal)
}

async function done(at: Attached, job: JobName, wire: WireRequest, signal: AbortSignal): Promise<void> {
  const answer = await at.transport.send(wire, signal, MAX_STATE_BYTES)
  if (answer.status >= 300) throw refused(answer, at, job)
}

function pathOf({ id, scope }: JobName, more = '', query = ''): string {
  return `/jobs/${encodeURIComponent(id)}${more}?scope=${encodeURIComponent(scope)}${query}`
}

/** The endpoint's refusal, by the code that says what is to be done about it. */
function refused(answer: WholeAnswer, at: Attached, { id }: JobName) {
  const error = refusal(answer, at.transport.name)
  const { code, message } = error.data
  if (!isError(error, 'endpoint_refused')) return error
  if (code === 'not_found' || code === 'gone' || code === 'conflict') return fail(code, { id, message })
  return error
}

function letGoOf({ id }: JobName, signal: AbortSignal) {
  return fail('aborted', { what: `the job ${id}`, ended: false }, signal.reason)
}
