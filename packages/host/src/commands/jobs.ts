/** The numbered jobs of a session: what runs, what it said, and its end. */
import type { NumberedJob } from '@beige/harness'
import { isError } from '@beige/protocol'
import { fail } from '../errors.ts'
import type { LiveSession } from '../live-session.ts'
import type { Handler } from './handler.ts'

const DEFAULT_LIMIT = 65_536
const KILL_MS = 30_000

/** Thrown by the reader of a window that is full, to end the reading; never leaves this file. */
const FULL = Symbol('full')

function jobOf(live: LiveSession, number: number): NumberedJob {
  const job = live.session.notes().jobs.get(number)
  if (!job) throw fail('not_found', { what: 'job', id: String(number) })
  return job
}

function shown({ number, command, startedAt, ended }: NumberedJob): Record<string, unknown> {
  const end = ended?.end
  const exited = end?.how === 'exited' ? end : null
  return {
    job: number,
    command,
    state: end === undefined ? 'running' : exited ? 'ended' : 'lost',
    started_at: startedAt,
    ended_at: ended?.durationMs == null ? null : startedAt + ended.durationMs,
    exit_code: exited?.exit_code ?? null,
    signal: exited?.signal ?? null,
  }
}

export const listJobs: Handler<'list_jobs'> = (_command, { live }) => ({
  jobs: [...live.session.notes().jobs.values()].map(shown),
})

export const killJob: Handler<'kill_job'> = async ({ job }, { live }) => {
  if (!jobOf(live, job).ended) await live.jobs.kill(job, AbortSignal.timeout(KILL_MS))
  return shown(jobOf(live, job))
}

/** Offsets are bytes of both streams in the order in which the endpoint holds them. */
export const jobOutput: Handler<'get_job_output'> = async (command, { live }) => {
  const { job: number, offset = 0, limit = DEFAULT_LIMIT, wait_ms = 0 } = command
  const { id, scope, instance } = jobOf(live, number)
  const signal = AbortSignal.timeout(wait_ms + KILL_MS)
  const { exec, generation } = await live.hands.open(signal)
  const state = () => shown(jobOf(live, number)).state
  if (generation !== instance) return { text: '', next_offset: offset, dropped_bytes: 0, state: 'lost' }
  const window = createWindow(offset, limit)
  try {
    await exec.readJob({ id, scope }, { stdout: 0, stderr: 0 }, wait_ms, window.take, signal)
  } catch (error) {
    if (isError(error, 'gone', 'not_found'))
      return { text: '', next_offset: offset, dropped_bytes: 0, state: state() }
    if (error !== FULL) throw error
  }
  return { ...window.shown(), state: state() }
}

function createWindow(offset: number, limit: number) {
  const at = { stdout: 0, stderr: 0 }
  const parts: Uint8Array[] = []
  let bytes = 0
  let dropped = 0
  return {
    take: (chunk: { stream: 'stdout' | 'stderr'; offset: number; bytes: Uint8Array }) => {
      dropped += chunk.offset - at[chunk.stream]
      at[chunk.stream] = chunk.offset
      const position = at.stdout + at.stderr
      at[chunk.stream] += chunk.bytes.length
      const wanted = chunk.bytes.subarray(Math.max(0, offset - position))
      const kept = wanted.subarray(0, limit - bytes)
      parts.push(kept)
      bytes += kept.length
      if (bytes >= limit) throw FULL
    },
    shown: () => {
      // Half a character at the end belongs to the next window.
      const whole = Buffer.concat(parts)
      const text = new TextDecoder().decode(whole, { stream: true })
      const rest = whole.length - Buffer.byteLength(text)
      const cut = rest > 0 && rest < 4 ? rest : 0
      return { text, next_offset: offset + whole.length - cut, dropped_bytes: dropped }
    },
  }
}
