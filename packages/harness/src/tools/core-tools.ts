/** The gateway's names: `patch` and `exec`. What they do is in edit.ts and command.ts, as for `edit` and `bash` (H40). */
import { arr, bool, int, obj, oneOf, opt, str } from '@earendil-works/pi-schema'
import { MAX_LINES } from '../output/index.ts'
import type { Tool } from '../tool.ts'
import { errorResult } from '../tool-pipeline.ts'
import { type CommandInput, runCommand } from './command.ts'
import type { JobWords } from './command-as-job.ts'
import { defineTool } from './define-tool.ts'
import { editFile } from './edit.ts'
import type { EditNames } from './edit-problems.ts'
import { askJob } from './job-actions.ts'
import { tidyPath } from './paths.ts'
import type { SandboxFacts } from './sandbox-facts.ts'

const DEFAULT_TIMEOUT_S = 900
const MAX_TIMEOUT_S = 2_147_483 // 2^31 ms, the limit of exec/2
const DEFAULT_WAIT_S = 60
const MAX_WAIT_S = 600
const MAX_EDITS = 64

const PATCH_NAMES: EditNames = {
  oldText: 'oldText',
  newText: 'newText',
  replaceAll: 'replaceAll',
  edits: 'edits',
}

const patchSchema = obj({
  path: str({ description: 'File to change: absolute, or relative to the working directory' }),
  oldText: opt(str({ description: 'Text that is there now; must be at exactly one place' })),
  newText: opt(str({ description: 'Text that takes its place, literally' })),
  replaceAll: opt(bool({ default: false, description: 'Replace it at every place' })),
  edits: opt(
    arr(obj({ oldText: str(), newText: str(), replaceAll: opt(bool({ default: false })) }), {
      minItems: 1,
      maxItems: MAX_EDITS,
      description: 'Several edits at once, all located in the file as it is now; all are made or none',
    }),
  ),
})

export function patchTool(facts: SandboxFacts): Tool {
  return defineTool({
    name: 'patch',
    effect: () => 'writes',
    description:
      'Replaces text in a file: oldText, which must be at exactly one place, becomes newText. Nothing else in the file changes.',
    schema: patchSchema,
    idempotent: false,
    mode: 'shared',
    lock: input => ({ path: tidyPath(input.path), mode: 'exclusive' }),
    run: ({ path, oldText, newText, replaceAll, edits }, context) =>
      editFile(
        {
          path,
          single: { oldText, newText, replaceAll },
          several: edits?.map(edit => ({ ...edit, replaceAll: edit.replaceAll ?? false })),
        },
        PATCH_NAMES,
        context,
        facts,
      ),
  })
}

const execSchema = obj({
  command: opt(str({ description: 'Text for the shell: bash, or sh where there is no bash' })),
  args: opt(
    arr(str(), {
      minItems: 1,
      description: 'Instead of command: a program and its arguments, no shell sees them',
    }),
  ),
  cwd: opt(str({ description: 'Directory to run it in; default: the working directory' })),
  timeout: opt(
    int({
      minimum: 1,
      maximum: MAX_TIMEOUT_S,
      description: `Seconds (default ${DEFAULT_TIMEOUT_S}) after which it goes on as a numbered job (where there are no jobs: it is ended); with job: how long to wait (default ${DEFAULT_WAIT_S})`,
    }),
  ),
  background: opt(
    bool({ default: false, description: 'Makes it a numbered job at once; you are told when it ends' }),
  ),
  stdinOpen: opt(
    bool({ default: false, description: 'stdin stays open for action stdin; else it is closed' }),
  ),
  job: opt(int({ minimum: 1, description: 'Instead of a command: number of a job' })),
  action: opt(
    oneOf(['wait', 'output', 'stdin', 'kill', 'list'], {
      description:
        'Of a job (default wait). wait: until it ends, with its output since you last saw it; output: a part of all its output; stdin: writes text to it; kill: ends it and all that it started; list: all jobs',
    }),
  ),
  offset: opt(int({ minimum: 0, description: 'output: byte to begin at; default: 0' })),
  limit: opt(
    int({ minimum: 1, maximum: MAX_LINES, default: MAX_LINES, description: 'output: at most so many lines' }),
  ),
  text: opt(str({ description: 'stdin: written as it is, so end a line with a newline' })),
  eof: opt(bool({ default: false, description: 'stdin: closes it afterwards' })),
})

const WORDS: JobWords = {
  goOn: job => `exec with job: ${job} waits for it, with action: "kill" kills it`,
  nothingToWrite: 'give text for its stdin, or eof: true to close it',
  closed: job =>
    `the stdin of job ${job} is closed: only a command that was started with stdinOpen: true takes input, until eof`,
}
const NEITHER = 'give either command, a text for the shell, or args, a program and its arguments'

export function execTool(facts: SandboxFacts): Tool {
  return defineTool({
    name: 'exec',
    description:
      'Runs a command and shows stdout and stderr in order of arrival, at most 2000 lines or 50 KiB: the beginning and the end stay. stdin is closed, unless stdinOpen. Each call is a process of its own: cd and variables do not last. A command that is silent for long goes on as a numbered job: wait for it, read it, write to it or kill it with job and action; you are told when it ends.',
    schema: execSchema,
    idempotent: false,
    announces: true,
    mode: 'exclusive',
    async run(input, context) {
      const { command, args, cwd, timeout, job, action, background = false, stdinOpen = false } = input
      const [program, ...rest] = args ?? []
      const commands = Number(command !== undefined) + Number(program !== undefined)
      if (job !== undefined || action !== undefined) {
        if (commands > 0) return errorResult('invalid_input', 'job and action go without a command')
        const { offset = 0, limit = MAX_LINES, text, eof = false } = input
        const timeoutMs = Math.min(timeout ?? DEFAULT_WAIT_S, MAX_WAIT_S) * 1000
        return await askJob(
          { action: action ?? 'wait', job, timeoutMs, offset, limit, text, eof, words: WORDS },
          context,
        )
      }
      if (commands !== 1) return errorResult('invalid_input', NEITHER)
      const what: CommandInput =
        program === undefined ? { text: command ?? '' } : { argv: [program, ...rest] }
      const timeoutMs = (timeout ?? DEFAULT_TIMEOUT_S) * 1000
      return await runCommand(what, { cwd, timeoutMs, background, stdinOpen, words: WORDS }, context, facts)
    },
  })
}
