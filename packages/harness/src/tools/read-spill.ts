/** Lines of the whole output of a command, read from its job: both streams in order of arrival, as the model saw them. */
import { isError } from '@beige/protocol'
import type { ExecChunk } from '@beige/sandbox'
import { spillPath } from '../output/index.ts'
import { countText, sizeText } from '../output/limits.ts'
import type { ToolContext, ToolResult } from '../tool.ts'
import { errorResult } from '../tool-pipeline.ts'
import { textResult } from './define-tool.ts'
import { createLineWindow } from './line-window.ts'

const LF = 0x0a

/** Thrown by the reader of a window that is full, to end the reading; never leaves this file. */
const FULL = Symbol('full')

export async function readSpill(
  callId: string,
  { offset, limit }: { offset: number; limit: number },
  { hands, jobs, signal }: ToolContext,
): Promise<ToolResult> {
  const path = spillPath(callId)
  if (!jobs) return lost(path, 'this call belongs to no session')
  const window = createLineWindow(offset, limit)
  const at = { stdout: 0, stderr: 0 }
  let droppedBytes = 0
  let line = 1
  let isRunning = false

  function take({ stream, offset: from, bytes }: ExecChunk): void {
    droppedBytes += from - at[stream]
    at[stream] = from + bytes.length
    let start = 0
    while (line < offset) {
      const end = bytes.indexOf(LF, start)
      if (end < 0) return
      line++
      start = end + 1
    }
    if (!window.push(bytes.subarray(start))) throw FULL
  }

  try {
    const { exec } = await hands.open(signal)
    const from = { stdout: 0, stderr: 0 }
    const name = { id: callId, scope: jobs.scope }
    const end = await exec.readJob(name, from, 0, take, signal)
    isRunning = end === null && (await exec.jobState(name, signal)).state === 'running'
  } catch (error) {
    if (isError(error, 'not_found', 'no_jobs')) return lost(path, 'its sandbox does not know it (any more)')
    if (isError(error, 'gone')) return lost(path, 'its sandbox keeps it no longer')
    if (error !== FULL) throw error
  }
  const { lines, lastLine, isFull, badBytes } = window.finish()
  const notes = [
    ...(droppedBytes > 0
      ? [`[${sizeText(droppedBytes)} were more than could be kept; lines are counted in what is kept]`]
      : []),
    ...(badBytes > 0 ? [`[not UTF-8 and shown as U+FFFD: ${countText(badBytes, 'byte')}]`] : []),
    ...(isFull ? [`[lines ${offset}-${lastLine} of more; continue with offset=${lastLine + 1}]`] : []),
    ...(isRunning ? ['[the command still runs]'] : []),
  ]
  const details = { path, lines: [offset, lastLine], dropped_bytes: droppedBytes }
  if (lines.length > 0) return textResult([...lines, ...notes].join('\n'), details)
  if (offset === 1) return textResult(['[no output]', ...notes].join('\n'), details)
  const text = `offset ${offset} is behind the end: ${path} has ${countText(line, 'line')} at most`
  return errorResult('invalid_input', text, details)
}

function lost(path: string, why: string): ToolResult {
  return errorResult('not_found', `there is no ${path}: ${why}`, { path })
}
