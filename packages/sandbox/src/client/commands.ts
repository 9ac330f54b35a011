/** Runs commands on an endpoint. An abort returns when the endpoint has said that nothing of the command runs. */
import type { ExecHealth, ExecRequest } from '@beige/protocol'
import { fail } from '../errors.ts'
import type { Command, ExecChunk, ExecEnd, ExecResult } from '../exec-client.ts'
import { answerSchema, decodeBase64, endOf, parseAnswer, refusal } from './answers.ts'
import { createProgress, type OnChunk, type Progress, readFrames } from './frames.ts'
import { SILENCE_MS, type Transport } from './transport.ts'

export const STOP_MS = 15_000 // for the endpoint to say that a tree is gone; its own grace is 2 s
export const HANG_UP_MS = 8_000 // for the endpoint to close in turn, where it can not be asked by name
export const START_MS = 2_000 // for the start frame, when an abort comes before it
const MAX_ERROR_BYTES = 64 * 1024
const BASE_ANSWER_BYTES = 32 * 1024 * 1024 // for 16 MiB in base64 and its frame

export type Attached = { transport: Transport; health: ExecHealth | null }

const JSON_BODY = { 'content-type': 'application/json' }

export async function runCommand(at: Attached, command: Command, signal: AbortSignal): Promise<ExecResult> {
  // Streamed, so that its job has a name to be ended by.
  if (!offers(at, 'stream')) return await runOnce(at, command, signal)
  const maxBytes = at.health?.limits.max_response_bytes ?? 0
  const parts: Record<ExecChunk['stream'], Uint8Array[]> = { stdout: [], stderr: [] }
  let length = 0
  const end = await streamCommand(
    at,
    command,
    ({ stream, bytes }) => {
      length += bytes.length
      if (length <= maxBytes) parts[stream].push(bytes)
    },
    signal,
  )
  if (length > maxBytes) throw fail('answer_too_large', { maxBytes, commandStarted: true, ...end })
  return { ...end, stdout: Buffer.concat(parts.stdout), stderr: Buffer.concat(parts.stderr) }
}

/** The base request, for endpoints that know nothing else. */
async function runOnce(at: Attached, command: Command, signal: AbortSignal): Promise<ExecResult> {
  const { name } = at.transport
  const body = bodyOf(at, command, false)
  const maxBytes = Math.max(BASE_ANSWER_BYTES, 2 * (at.health?.limits.max_response_bytes ?? 0))
  const call = startCall(signal, (connection, hangUp) => {
    const wire = { method: 'POST', path: '', headers: JSON_BODY, body, silenceMs: null, hangUp } as const
    return at.transport.send(wire, connection, maxBytes)
  })
  const whole = await finishCall(call, command, signal, call.hangUp)
  const answer = parseAnswer(whole, answerSchema, name)
  return {
    ...endOf(answer),
    stdout: decodeBase64(answer.stdout, name),
    stderr: decodeBase64(answer.stderr, name),
  }
}

export async function streamCommand(
  at: Attached,
  command: Command,
  onChunk: OnChunk,
  signal: AbortSignal,
): Promise<ExecEnd> {
  const body = bodyOf(at, command, true)
  const progress = createProgress()
  const call = startCall(signal, (connection, hangUp) =>
    readStream(at, body, onChunk, progress, connection, hangUp),
  )
  return await finishCall(call, command, signal, async () => {
    progress.discard = true
    return await endJob(at, progress, call)
  })
}

async function readStream(
  at: Attached,
  body: string,
  onChunk: OnChunk,
  progress: Progress,
  signal: AbortSignal,
  hangUp: AbortSignal,
): Promise<ExecEnd> {
  const { transport } = at
  const wire = { method: 'POST', path: '', headers: JSON_BODY, body, silenceMs: SILENCE_MS, hangUp } as const
  const answer = await transport.begin(wire, signal)
  if (answer.status === 200) return await readFrames(transport.name, answer.body, onChunk, progress)
  throw refusal(await transport.collect(answer, MAX_ERROR_BYTES), transport.name)
}

/**
 * Ends a running command. True when the endpoint has shown that nothing of it runs: by its answer, or by closing a connection
 * on which we had hung up. False when neither came, and the closing of the connection is what ends it.
 */
async function endJob(at: Attached, progress: Progress, call: Call<ExecEnd>): Promise<boolean> {
  if (progress.ended) return true
  if (!offers(at, 'jobs')) return await call.hangUp()
  if (progress.jobId === null) await within(START_MS, Promise.race([progress.started.promise, call.outcome]))
  if (progress.ended) return true
  if (progress.jobId === null) return await call.hangUp()
  const path = `/jobs/${encodeURIComponent(progress.jobId)}`
  const wire = { method: 'DELETE', path, silenceMs: STOP_MS, control: true } as const
  try {
    const { status } = await at.transport.send(wire, AbortSignal.timeout(STOP_MS), MAX_ERROR_BYTES)
    return status === 200 || status === 404 || status === 410 // not known any more means that it has ended
  } catch {
    return false // the endpoint is gone or hangs; what the caller is told says that nobody confirmed the end
  }
}

type Outcome<T> = { kind: 'ended'; value: T } | { kind: 'failed'; error: unknown }
type Call<T> = {
  /** Never rejects. */
  outcome: Promise<Outcome<T>>
  /** True when the endpoint closed its side as well. */
  hangUp(): Promise<boolean>
  disconnect(): void
}

function startCall<T>(
  signal: AbortSignal,
  work: (connection: AbortSignal, hangUp: AbortSignal) => Promise<T>,
): Call<T> {
  if (signal.aborted) throw fail('aborted', { what: 'nothing', ended: true }, signal.reason)
  const connection = new AbortController()
  const hangingUp = new AbortController()
  const outcome = work(connection.signal, hangingUp.signal).then(
    value => ({ kind: 'ended', value }) as const,
    (error: unknown) => ({ kind: 'failed', error }) as const,
  )
  return {
    outcome,
    hangUp: () => {
      hangingUp.abort()
      return within(HANG_UP_MS, outcome)
    },
    disconnect: () => connection.abort(),
  }
}

/** The result, or the error when the caller wants no more or the answer can not be read: not before `end` has ended it. */
async function finishCall<T>(
  call: Call<T>,
  command: Command,
  signal: AbortSignal,
  end: () => Promise<boolean>,
): Promise<T> {
  const abort = onceAborted(signal)
  const first = await Promise.race([call.outcome, abort.promise])
  abort.release()
  // After a whole answer there is nothing to disconnect: the connection is back in its pool.
  if (first.kind === 'ended') return first.value
  try {
    const ended = await end()
    throw first.kind === 'failed'
      ? first.error
      : fail('aborted', { what: command.command, ended }, signal.reason)
  } finally {
    call.disconnect()
  }
}

/** Whether `promise` settled in time. */
export async function within(ms: number, promise: Promise<unknown>): Promise<boolean> {
  const limit = onceAborted(AbortSignal.timeout(ms))
  const settled = promise.then(() => true)
  const inTime = await Promise.race([settled, limit.promise.then(() => false)])
  limit.release()
  return inTime
}

export function bodyOf(at: Attached, command: Command, stream: boolean, job?: ExecRequest['job']): string {
  const { stdin, ...rest } = command
  const body = JSON.stringify({
    ...rest,
    ...(stdin
      ? { stdin: Buffer.from(stdin.buffer, stdin.byteOffset, stdin.byteLength).toString('base64') }
      : {}),
    ...(stream ? { stream } : {}),
    ...(job ? { job } : {}),
  })
  const maxBytes = at.health?.limits.max_request_bytes
  const bytes = Buffer.byteLength(body)
  if (maxBytes !== undefined && bytes > maxBytes) throw fail('request_too_large', { bytes, maxBytes })
  return body
}

export function offers(at: Attached, feature: string): boolean {
  return at.health?.features.includes(feature) ?? false
}

function onceAborted(signal: AbortSignal) {
  const { promise, resolve } = Promise.withResolvers<{ kind: 'aborted' }>()
  const onAbort = () => resolve({ kind: 'aborted' })
  if (signal.aborted) onAbort()
  signal.addEventListener('abort', onAbort, { once: true })
  return { promise, release: () => signal.removeEventListener('abort', onAbort) }
}
