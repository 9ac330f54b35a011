/** Runs commands on an endpoint. An abort returns when the endpoint has said that nothing of the command runs. */
import type { ExecHealth } from '@beige/protocol'
import { fail } from '../errors.ts'
import type { Command, ExecChunk, ExecEnd, ExecResult } from '../exec-client.ts'
import { answerSchema, decodeBase64, endOf, parseAnswer, refusal } from './answers.ts'
import { createProgress, type OnChunk, type Progress, readFrames } from './frames.ts'
import { SILENCE_MS, type Transport } from './transport.ts'

export const STOP_MS = 15_000 // for the endpoint to say that a tree is gone; its own grace is 2 s
export const START_MS = 2_000 // for the start frame, when an abort comes before it
const MAX_ERROR_BYTES = 64 * 1024
const BASE_ANSWER_BYTES = 32 * 1024 * 1024 // for 16 MiB in base64 and its frame

export type Attached = { transport: Transport; health: ExecHealth | null }

const JSON_BODY = { 'content-type': 'application/json' }

export async function runCommand(at: Attached, command: Command, signal: AbortSignal): Promise<ExecResult> {
  // A one-shot answer names no job, so nobody could ask whether an aborted one has ended.
  if (!offers(at, 'stream') || !offers(at, 'jobs')) return await runOnce(at, command, signal)
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

/** The base request, for endpoints that know nothing else. An abort closes the connection, which ends the command. */
async function runOnce(at: Attached, command: Command, signal: AbortSignal): Promise<ExecResult> {
  const { name } = at.transport
  const body = bodyOf(at, command, false)
  const maxBytes = Math.max(BASE_ANSWER_BYTES, 2 * (at.health?.limits.max_response_bytes ?? 0))
  const whole = await at.transport.send(
    { method: 'POST', path: '', headers: JSON_BODY, body, silenceMs: null },
    signal,
    maxBytes,
  )
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
  if (signal.aborted) throw abortedCommand(command, true, signal)
  const connection = new AbortController()
  const progress = createProgress()
  const reading = readStream(at, body, onChunk, progress, connection.signal).then(
    end => ({ kind: 'ended', end }) as const,
    (error: unknown) => ({ kind: 'failed', error }) as const,
  )
  const abort = onceAborted(signal)
  try {
    const first = await Promise.race([reading, abort.promise])
    if (first.kind === 'ended') return first.end
    // A caller who wants no more and a reader that failed both leave a command that may still run.
    progress.discard = true
    const ended = await endJob(at, progress, reading)
    throw first.kind === 'failed' ? first.error : abortedCommand(command, ended, signal)
  } finally {
    abort.release()
    connection.abort() // after an exit frame this ends nothing: the connection is back in its pool
  }
}

async function readStream(
  at: Attached,
  body: string,
  onChunk: OnChunk,
  progress: Progress,
  signal: AbortSignal,
): Promise<ExecEnd> {
  const { transport } = at
  const wire = { method: 'POST', path: '', headers: JSON_BODY, body, silenceMs: SILENCE_MS } as const
  const answer = await transport.begin(wire, signal)
  if (answer.status === 200) return await readFrames(transport.name, answer.body, onChunk, progress)
  throw refusal(await transport.collect(answer, MAX_ERROR_BYTES), transport.name)
}

/**
 * Ends a running command. True when the endpoint has said that nothing of it runs; false when it could not be asked, and the
 * closing of the connection is what ends it.
 */
async function endJob(at: Attached, progress: Progress, reading: Promise<unknown>): Promise<boolean> {
  if (progress.jobId === null) {
    const wait = onceAborted(AbortSignal.timeout(START_MS))
    await Promise.race([progress.started.promise, reading, wait.promise])
    wait.release()
  }
  if (progress.ended) return true
  if (progress.jobId === null || !offers(at, 'jobs')) return false
  const path = `/jobs/${encodeURIComponent(progress.jobId)}`
  const wire = { method: 'DELETE', path, silenceMs: STOP_MS, control: true } as const
  try {
    const { status } = await at.transport.send(wire, AbortSignal.timeout(STOP_MS), MAX_ERROR_BYTES)
    return status === 200 || status === 404 || status === 410 // not known any more means that it has ended
  } catch {
    return false // the endpoint is gone or hangs; what the caller is told says that nobody confirmed the end
  }
}

function bodyOf(at: Attached, command: Command, stream: boolean): string {
  const { stdin, ...rest } = command
  const body = JSON.stringify({
    ...rest,
    ...(stdin
      ? { stdin: Buffer.from(stdin.buffer, stdin.byteOffset, stdin.byteLength).toString('base64') }
      : {}),
    ...(stream ? { stream } : {}),
  })
  const maxBytes = at.health?.limits.max_request_bytes
  const bytes = Buffer.byteLength(body)
  if (maxBytes !== undefined && bytes > maxBytes) throw fail('request_too_large', { bytes, maxBytes })
  return body
}

export function offers(at: Attached, feature: string): boolean {
  return at.health?.features.includes(feature) ?? false
}

function abortedCommand(command: Command, ended: boolean, signal: AbortSignal) {
  return fail('aborted', { what: command.command, ended }, signal.reason)
}

function onceAborted(signal: AbortSignal) {
  const { promise, resolve } = Promise.withResolvers<{ kind: 'aborted' }>()
  const onAbort = () => resolve({ kind: 'aborted' })
  if (signal.aborted) onAbort()
  signal.addEventListener('abort', onAbort, { once: true })
  return { promise, release: () => signal.removeEventListener('abort', onAbort) }
}
