/** Reads the frames of one streamed command: in order, complete, and no faster than its reader takes them. */
import { isError } from '@beige/protocol'
import { fail } from '../errors.ts'
import type { ExecChunk, ExecEnd } from '../exec-client.ts'
import { decodeBase64, endOf, outputFrame, parseFrame } from './answers.ts'
import { createLineSplitter } from './ndjson.ts'

export type OnChunk = (chunk: ExecChunk) => void | Promise<void>

/** What is known about a running stream by whoever may have to end it. */
export type Progress = {
  /** Resolves when `jobId` is set. */
  started: PromiseWithResolvers<void>
  jobId: string | null
  /** The endpoint has said that nothing of the command runs any more. */
  ended: boolean
  /** Set from outside: read on to the end, but hand nothing out. */
  discard: boolean
}

export function createProgress(): Progress {
  return { started: Promise.withResolvers<void>(), jobId: null, ended: false, discard: false }
}

/** What is looser about the output of a job than about a stream of its own. */
export type FrameRules = {
  /** Where each stream goes on. */
  from: { stdout: number; stderr: number }
  /** A kept job is not slowed by its reader, so what it could not hold is missing. */
  mayJump: boolean
  /** An answer to `GET …/output` has no start frame to begin with, or may have one. */
  mayBeginAnywhere: boolean
}
const STRICT: FrameRules = { from: { stdout: 0, stderr: 0 }, mayJump: false, mayBeginAnywhere: false }

export async function readFrames(
  endpoint: string,
  body: AsyncIterable<Buffer>,
  onChunk: OnChunk,
  progress: Progress,
  rules: FrameRules = STRICT,
): Promise<ExecEnd> {
  const end = await readFramesSoFar(endpoint, body, onChunk, progress, rules)
  if (end) return end
  throw cutOff(endpoint, progress, undefined)
}

/** Null when the body ended, as it should, after a whole frame that was not the last one. */
export async function readFramesSoFar(
  endpoint: string,
  body: AsyncIterable<Buffer>,
  onChunk: OnChunk,
  progress: Progress,
  rules: FrameRules,
): Promise<ExecEnd | null> {
  const lines = createLineSplitter(endpoint)
  const offsets = { ...rules.from }
  let end: ExecEnd | null = null
  let readerFailed = false

  try {
    for await (const piece of body) for (const line of lines.push(piece)) await take(line)
  } catch (error) {
    throw readerFailed || isError(error) ? error : cutOff(endpoint, progress, error)
  }
  if (lines.hasRest) throw cutOff(endpoint, progress, undefined)
  return end

  async function take(line: Buffer): Promise<void> {
    const known = end === null && progress.jobId !== null ? outputFrame(line) : null
    if (known) return await output(known.type, known.offset, known.bytes)
    const frame = parseFrame(line, endpoint)
    if (end) throw outOfOrder(`${frame.type} after exit`)
    const isFirst = progress.jobId === null
    if (
      isFirst !== (frame.type === 'start') &&
      frame.type !== 'error' &&
      !(isFirst && rules.mayBeginAnywhere)
    ) {
      throw outOfOrder(isFirst ? `${frame.type} before start` : 'a second start')
    }
    switch (frame.type) {
      case 'start':
        progress.jobId = frame.job
        progress.started.resolve()
        return
      case 'stdout':
      case 'stderr':
        return await output(frame.type, frame.offset, decodeBase64(frame.data, endpoint))
      case 'heartbeat':
        return
      case 'exit':
        progress.ended = true
        end = endOf(frame)
        return
      case 'error': {
        progress.ended = true
        const { code, message } = frame.error
        throw fail('command_failed', { code, message, commandStarted: progress.jobId !== null })
      }
      default:
        frame satisfies never
    }
  }

  async function output(stream: ExecChunk['stream'], offset: number, bytes: Buffer): Promise<void> {
    if (offset < offsets[stream] || (offset > offsets[stream] && !rules.mayJump)) {
      throw outOfOrder(`${stream} goes on at byte ${offset} after ${offsets[stream]}`)
    }
    offsets[stream] = offset + bytes.length
    if (progress.discard) return
    try {
      // Awaited: while the reader works nothing is read, so the pipe fills and the command waits.
      await onChunk({ stream, offset, bytes })
    } catch (error) {
      readerFailed = true
      throw error
    }
  }

  function outOfOrder(reason: string) {
    return fail('endpoint_wrong', { endpoint, reason: `frames out of order: ${reason}` })
  }
}

function cutOff(endpoint: string, progress: Progress, error: unknown) {
  const commandStarted = progress.jobId !== null
  return fail(
    'endpoint_lost',
    { endpoint, reason: 'the stream ended before its exit frame', commandStarted },
    error,
  )
}
