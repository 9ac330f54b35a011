/**
 * Runs a command in the sandbox and tells how it ended. `bash` and `exec` are its two namings (H40). A command is an argv;
 * the text for a shell is one argument of it, or its stdin, and crosses no other quoting (H24).
 */
import type { Command } from '@beige/sandbox'
import { commandLine } from '../jobs/job-texts.ts'
import { createCapture } from '../output/index.ts'
import type { ToolContext, ToolResult } from '../tool.ts'
import { errorResult } from '../tool-pipeline.ts'
import { type CommandRun, type JobWords, runAsJob } from './command-as-job.ts'
import { ended, failed, NO_SUCH_DIRECTORY } from './command-result.ts'
import { whatIsAt } from './file-failures.ts'
import { type Place, placeOf } from './paths.ts'
import type { SandboxFacts } from './sandbox-facts.ts'

const MAX_ARGUMENT_BYTES = 120 * 1024 // Linux takes 128 KiB in one argument
const PROGRESS_BYTES = 8192

/** Nothing that waits for a person or a terminal. */
const ENVIRONMENT = { PAGER: 'cat', GIT_PAGER: 'cat', GIT_TERMINAL_PROMPT: '0', TERM: 'dumb' } as const

/** `text` goes to the sandbox's shell; `argv` is a program and its arguments, which no shell sees. */
export type CommandInput = { text: string } | { argv: readonly [string, ...string[]] }

export type CommandOptions = {
  cwd: string | undefined
  /** After it the command goes on as a numbered job, or is ended where there are no jobs. */
  timeoutMs: number
  /** It becomes a numbered job at once. */
  background: boolean
  /** Its stdin stays open, to be written to as a job. */
  stdinOpen: boolean
  words: JobWords
}

export async function runCommand(
  input: CommandInput,
  options: CommandOptions,
  context: ToolContext,
  facts: SandboxFacts,
): Promise<ToolResult> {
  const { signal, jobs } = context
  const wrong = whatIsWrong(input, options.stdinOpen)
  if (wrong) return errorResult('invalid_input', wrong)
  const placed = await placeOf(options.cwd ?? context.cwd, context, facts)
  if (!placed.ok) return placed.result
  const { place } = placed
  const command: Command = {
    ...('text' in input ? await forShell(input.text, context, facts) : forProgram(input.argv)),
    cwd: place.path,
    env: { ...ENVIRONMENT, ...context.env },
    ...(options.stdinOpen ? { stdin_open: true } : {}),
  }
  const shown = commandLine('text' in input ? input.text : input.argv.join(' '))
  const run = { ...options, place, command, shown, isMissing: () => isMissing(place, signal) }
  if (jobs && (await place.exec.hasJobs(signal))) return await runAsJob(run, context, jobs)
  if (options.background || options.stdinOpen) {
    const what = options.background ? 'run in the background' : 'have an open stdin'
    return errorResult('invalid_input', `it can not ${what}: ${whyNoJobs(context)}`)
  }
  return await runToEnd(run, context)
}

function whyNoJobs({ jobs }: ToolContext): string {
  return jobs
    ? "the sandbox's endpoint has no jobs. Run it without, with a timeout that is long enough"
    : 'this call belongs to no session'
}

/** Without a job: the command ends with its call, at the latest after its timeout. */
async function runToEnd(run: CommandRun, context: ToolContext): Promise<ToolResult> {
  const { signal } = context
  const { path: cwd, exec } = run.place
  const capture = createCapture()
  const said = () => ({ ...capture.finish(), totalBytes: capture.totalBytes })
  const onChunk = ({ stream, bytes }: { stream: 'stdout' | 'stderr'; bytes: Uint8Array }) => {
    capture.push(stream, bytes)
    context.progress(() => capture.newest(PROGRESS_BYTES), capture.totalBytes)
  }
  await context.begins(null)
  try {
    const end = await exec.stream({ ...run.command, timeout_ms: run.timeoutMs }, onChunk, signal)
    const hasNoDirectory = end.exitCode === NO_SUCH_DIRECTORY && (await run.isMissing())
    return ended(end, said(), cwd, run.timeoutMs, hasNoDirectory)
  } catch (error) {
    return failed(error, said(), cwd, signal)
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

function whatIsWrong(input: CommandInput, stdinOpen: boolean): string | null {
  const parts = 'text' in input ? [input.text] : input.argv
  if (parts.some(part => part.includes('\0'))) return 'a command can not have a zero byte'
  if ('text' in input && stdinOpen && Buffer.byteLength(input.text) > MAX_ARGUMENT_BYTES) {
    return `a command over ${MAX_ARGUMENT_BYTES / 1024} KiB goes in by stdin, so that can not stay open: write it to a file and run that`
  }
  return 'argv' in input && input.argv[0] === '' ? 'the program, the first of args, is empty' : null
}
