/**
 * A window of a job's output, by byte offset: both streams in the order in which the endpoint holds them. What it has dropped
 * counts as well, so an offset means the same bytes each time.
 */
import { isError } from '@beige/protocol'
import type { ExecChunk } from '@beige/sandbox'
import { countText, createCapture, MAX_BYTES, MAX_LINES } from '../output/index.ts'
import type { ToolContext, ToolResult } from '../tool.ts'
import { errorResult } from '../tool-pipeline.ts'
import type { JobBook } from './job-book.ts'
import { endedText } from './job-texts.ts'

const WINDOW_BYTES = MAX_BYTES - 1024 // room for the last line
const LF = 0x0a

/** Thrown by the reader of a window that is full, to end the reading; never leaves this file. */
const FULL = Symbol('full')

export async function readJobOutput(
  jobs: JobBook,
  number: number,
  { offset, limit }: { offset: number; limit: number },
  { hands, signal }: ToolContext,
): Promise<ToolResult> {
  const job = jobs.all.get(number)
  const { exec, generation } = await hands.open(signal)
  if (!job || generation !== job.instance) return gone(number, 'its sandbox was restarted')
  const window = createWindow(offset, Math.min(limit, MAX_LINES))
  try {
    await exec.readJob({ id: job.id, scope: job.scope }, { stdout: 0, stderr: 0 }, 0, window.take, signal)
  } catch (error) {
    if (isError(error, 'gone', 'not_found')) return gone(number, 'its output is no longer kept')
    if (error !== FULL) throw error
  }
  const state = endedText(jobs.all.get(number) ?? job)
  const { text, end, isFull } = window.shown()
  const range =
    end === offset ? `no output from byte ${offset} on` : `bytes ${offset} to ${end}, counted from 0`
  const more = isFull ? `; go on with offset=${end}` : `; that is all so far (${countText(end)} bytes)`
  const note = `[${range}${end === offset && !isFull ? '' : more}; ${state}]`
  return {
    content: [{ type: 'text', text: text === '' ? note : `${text}\n${note}` }],
    isError: false,
    outcome: 'done',
    details: { job: number, offset, next_offset: end, more: isFull },
  }
}

function createWindow(offset: number, maxLines: number) {
  const capture = createCapture()
  const at = { stdout: 0, stderr: 0 }
  let end = offset
  let bytesLeft = WINDOW_BYTES
  let linesLeft = maxLines
  let isFull = false

  function take({ stream, offset: from, bytes }: ExecChunk): void {
    at[stream] = from
    const position = at.stdout + at.stderr
    at[stream] = from + bytes.length
    if (position + bytes.length <= offset) return
    if (isFull) throw FULL
    const wanted = bytes.subarray(Math.max(0, offset - position))
    const kept = wanted.subarray(0, cutAt(wanted))
    capture.push(stream, kept)
    end = Math.max(position, offset) + kept.length
    if (kept.length < wanted.length) {
      isFull = true
      throw FULL
    }
  }

  /** How many of these bytes are still in the window. */
  function cutAt(bytes: Uint8Array): number {
    const room = Math.min(bytes.length, bytesLeft)
    for (let index = 0; index < room; index++) {
      if (bytes[index] !== LF) continue
      linesLeft--
      if (linesLeft > 0) continue
      bytesLeft = 0
      return index + 1
    }
    bytesLeft -= room
    return room
  }

  return { take, shown: () => ({ text: capture.finish().text, end, isFull }) }
}

function gone(number: number, why: string): ToolResult {
  const text = `job ${number} is gone: ${why}`
  return { ...errorResult('unknown_outcome', text), outcome: 'unknown' }
}
