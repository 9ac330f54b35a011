/**
 * Runs a command in the sandbox and tells how it ended. `bash` and `exec` are its two namings (H40). A command is an argv;
 * the text for a shell is one argument of it, or its stdin, and crosses no other quoting (H24).
 */
import { isError } from '@beige/protocol'
import type { Command, ExecEnd } from '@beige/sandbox'
import { type Capture, createCapture, cutText } from '../output/index.ts'
import type { ToolContext, ToolErrorCode, ToolResult } from '../tool.ts'
import { errorResult } from '../tool-pipeline.ts'
import { whatIsAt } from './file-failures.ts'
import { type Place, placeOf } from './paths.ts'
import type { SandboxFacts } from './sandbox-facts.ts'

const MAX_ARGUMENT_BYTES = 120 * 1024 // Linux takes 128 KiB in one argument
const NO_SUCH_DIRECTORY = 126 // exec/2: also what a shell says of a file that is no program
const PROGRESS_BYTES = 8192
const MAX_NOTE_BYTES = 600

/** Nothing that waits for a person or a terminal. */
const ENVIRONMENT = { PAGER: 'cat', GIT_PAGER: 'cat', GIT_TERMINAL_PROMPT: '0', TERM: 'dumb' } as const

/** `text` goes to the sandbox's shell; `argv` is a program and its arguments, which no shell sees. */
export type CommandInput = { text: string } | { argv: readonly [string, ...string[]] }

export async function runCommand(
  input: CommandInput,
  options: { cwd: string | undefined; timeoutMs: number },
  context: ToolContext,
  facts: SandboxFacts,
): Promise<ToolResult> {
  const { signal } = context
  const wrong = whatIsWrong(input)
  if (wrong) return errorResult('invalid_input', wrong)
  const placed = await placeOf(options.cwd ?? context.cwd, context, facts)
  if (!placed.ok) return placed.result
  const { exec, path: cwd } = placed.place
  const command: Command = {
    ...('text' in input ? await forShell(input.text, context, facts) : forProgram(input.argv)),
    cwd,
    env: { ...ENVIRONMENT, ...context.env },
    timeout_ms: options.timeoutMs,
  }

  const capture = createCapture()
  const onChunk = ({ stream, bytes }: { stream: 'stdout' | 'stderr'; bytes: Uint8Array }) => {
    capture.push(stream, bytes)
    context.progress(capture.newest(PROGRESS_BYTES), capture.totalBytes)
  }
  try {
    const end = await exec.stream(command, onChunk, signal)
    const hasNoDirectory = end.exitCode === NO_SUCH_DIRECTORY && (await isMissing(placed.place, signal))
    return ended(end, capture, cwd, options.timeoutMs, hasNoDirectory)
  } catch (error) {
    return failed(error, capture, cwd, signal)
  }
}

/** When it can not be told, what the command itself said has to do. */
async function isMissing(place: Place, signal: AbortSignal): Promise<boolean> {
  try {
    return (await whatIsAt(place, signal)) === null
  } catch {
    return false
  }
}

async function forShell(text: string, context: ToolContext, facts: SandboxFacts): Promise<Command> {
  const shell = await facts.shell(await context.hands.open(context.signal), context.signal)
  if (Buffer.byteLength(text) <= MAX_ARGUMENT_BYTES) return { command: shell, args: ['-c', text] }
  // `eval` is no program, so its argument has no limit; the commands in the text find stdin at its end, as always.
  return { command: shell, args: ['-c', 'eval "$(cat)"'], stdin: Buffer.from(text) }
}

function forProgram([command, ...args]: readonly [string, ...string[]]): Command {
  return { command, args }
}

function whatIsWrong(input: CommandInput): string | null {
  const parts = 'text' in input ? [input.text] : input.argv
  if (parts.some(part => part.includes('\0'))) return 'a command can not have a zero byte'
  return 'argv' in input && input.argv[0] === '' ? 'the program, the first of args, is empty' : null
}

function ended(
  end: ExecEnd,
  capture: Capture,
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
  return result(capture, notes, {
    isError: timedOut || exitCode !== 0,
    outcome: 'done',
    details: { cwd, exit_code: exitCode, signal, timed_out: timedOut, ...(code === null ? {} : { code }) },
  })
}

/** What came before is still of use (H25). */
function failed(error: unknown, capture: Capture, cwd: string, signal: AbortSignal): ToolResult {
  if (signal.aborted) {
    const isEnded = !isError(error, 'aborted') || error.data.ended !== false
    const note = isEnded
      ? '[interrupted]'
      : '[interrupted; the sandbox did not confirm that the command has ended]'
    return result(capture, [note], {
      isError: true,
      outcome: 'interrupted',
      details: { cwd, exit_code: null, code: 'interrupted' },
    })
  }
  if (!isError(error)) throw error
  const isStarted = error.data.commandStarted === true || isError(error, 'command_failed')
  return result(capture, [`[${cutText(`${error.message}. ${error.advice}`, MAX_NOTE_BYTES)}]`], {
    isError: true,
    outcome: isStarted ? 'unknown' : 'done',
    details: { cwd, exit_code: null, code: 'endpoint', cause: error.code },
  })
}

function result(
  capture: Capture,
  notes: readonly string[],
  how: Pick<ToolResult, 'isError' | 'outcome' | 'details'>,
): ToolResult {
  const { text, missingBytes } = capture.finish()
  const parts = text === '' ? notes : [text, ...notes]
  return {
    ...how,
    content: [{ type: 'text', text: parts.length > 0 ? parts.join('\n') : '(no output)' }],
    details: { ...how.details, output_bytes: capture.totalBytes, missing_bytes: missingBytes },
  }
}

function durationText(ms: number): string {
  return ms < 1000 ? `${ms} ms` : `${Number((ms / 1000).toFixed(1))} s`
}
