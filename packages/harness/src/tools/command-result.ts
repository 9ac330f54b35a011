/** What a model reads of a command: its output, and in a last line how it ended. */
import { isError } from '@beige/protocol'
import type { ExecEnd } from '@beige/sandbox'
import { durationText } from '../jobs/job-texts.ts'
import { cutText } from '../output/index.ts'
import type { ToolErrorCode, ToolResult } from '../tool.ts'

export const NO_SUCH_DIRECTORY = 126 // exec/2: also what a shell says of a file that is no program
const MAX_NOTE_BYTES = 600

/** What a command said, as far as it may be shown. */
export type Said = { text: string; totalBytes: number; missingBytes: number; spill?: string }

export function ended(
  end: ExecEnd,
  said: Said,
  cwd: string,
  timeoutMs: number,
  hasNoDirectory: boolean,
): ToolResult {
  const { exitCode, signal, timedOut, heldPipes } = end
  const notes: string[] = []
  let code: ToolErrorCode | null = null
  if (heldPipes) notes.push('[a process that it left behind held its output open; it was not waited for]')
  if (timedOut) {
    code = 'timeout'
    notes.push(`[timed out after ${durationText(timeoutMs)}]`)
  } else if (hasNoDirectory) {
    code = 'not_found'
    notes.push(`[no such directory: ${cwd}]`)
  } else if (signal !== null) notes.push(`[killed by ${signal}]`)
  else if (exitCode !== 0) notes.push(`[exit code ${exitCode}]`)
  return result(said, notes, {
    isError: timedOut || exitCode !== 0,
    outcome: 'done',
    details: { cwd, exit_code: exitCode, signal, timed_out: timedOut, ...(code === null ? {} : { code }) },
  })
}

/** What came before is still of use (H25). */
export function failed(error: unknown, said: Said, cwd: string, signal: AbortSignal): ToolResult {
  if (signal.aborted) {
    const isEnded = !isError(error, 'aborted') || error.data.ended !== false
    const note = isEnded
      ? '[interrupted]'
      : '[interrupted; the sandbox did not confirm that the command has ended]'
    return result(said, [note], {
      isError: true,
      outcome: 'interrupted',
      details: { cwd, exit_code: null, code: 'interrupted' },
    })
  }
  if (!isError(error)) throw error
  const isStarted = error.data.commandStarted === true || isError(error, 'command_failed')
  return result(said, [`[${cutText(`${error.message}. ${error.advice}`, MAX_NOTE_BYTES)}]`], {
    isError: true,
    outcome: isStarted ? 'unknown' : 'done',
    details: { cwd, exit_code: null, code: 'endpoint', cause: error.code },
  })
}

export function result(
  said: Said,
  notes: readonly string[],
  how: Pick<ToolResult, 'isError' | 'outcome' | 'details'>,
): ToolResult {
  const { text, totalBytes, missingBytes, spill } = said
  const parts = text === '' ? notes : [text, ...notes]
  return {
    ...how,
    content: [{ type: 'text', text: parts.length > 0 ? parts.join('\n') : '(no output)' }],
    details: {
      ...how.details,
      output_bytes: totalBytes,
      missing_bytes: missingBytes,
      ...(spill === undefined ? {} : { spill }),
    },
  }
}
