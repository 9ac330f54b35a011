/** The harness's own names: `edit`, `bash` and `bash_job`. What they do is in edit.ts, command.ts and job-actions.ts. */
import { arr, bool, int, obj, oneOf, opt, str } from '@earendil-works/pi-schema'
import { MAX_LINES } from '../output/index.ts'
import type { Tool } from '../tool.ts'
import { runCommand } from './command.ts'
import type { JobWords } from './command-as-job.ts'
import { defineTool } from './define-tool.ts'
import { editFile } from './edit.ts'
import type { EditNames } from './edit-problems.ts'
import { askJob } from './job-actions.ts'
import { tidyPath } from './paths.ts'
import type { SandboxFacts } from './sandbox-facts.ts'

const DEFAULT_TIMEOUT_MS = 1_800_000
const MAX_TIMEOUT_MS = 2_147_483_647 // of exec/2
const DEFAULT_WAIT_MS = 60_000
const MAX_WAIT_MS = 600_000
const MAX_EDITS = 64

const EDIT_NAMES: EditNames = {
  oldText: 'old_string',
  newText: 'new_string',
  replaceAll: 'replace_all',
  edits: 'edits',
}

const editSchema = obj({
  path: str({ description: 'File to edit: absolute, or relative to the working directory' }),
  old_string: opt(str({ description: 'Text that is there now; must be at exactly one place' })),
  new_string: opt(str({ description: 'Text that takes its place, literally' })),
  replace_all: opt(bool({ default: false, description: 'Replace it at every place' })),
  edits: opt(
    arr(obj({ old_string: str(), new_string: str(), replace_all: opt(bool({ default: false })) }), {
      minItems: 1,
      maxItems: MAX_EDITS,
      description: 'Several edits at once, all located in the file as it is now; all are made or none',
    }),
  ),
})

export function editTool(facts: SandboxFacts): Tool {
  return defineTool({
    name: 'edit',
    effect: () => 'writes',
    description:
      'Replaces text in a file: old_string, which must be at exactly one place, becomes new_string. Nothing else in the file changes.',
    schema: editSchema,
    idempotent: false,
    mode: 'shared',
    lock: input => ({ path: tidyPath(input.path), mode: 'exclusive' }),
    run: ({ path, old_string, new_string, replace_all, edits }, context) =>
      editFile(
        {
          path,
          single: { oldText: old_string, newText: new_string, replaceAll: replace_all },
          several: edits?.map(edit => ({
            oldText: edit.old_string,
            newText: edit.new_string,
            replaceAll: edit.replace_all ?? false,
          })),
        },
        EDIT_NAMES,
        context,
        facts,
      ),
  })
}

const bashSchema = obj({
  command: str({ description: 'Text for the shell: bash, or sh where there is no bash' }),
  cwd: opt(str({ description: 'Directory to run it in; default: the working directory' })),
  timeout_ms: opt(
    int({
      minimum: 1,
      maximum: MAX_TIMEOUT_MS,
      default: DEFAULT_TIMEOUT_MS,
      description: 'After this time it goes on as a numbered job (where there are no jobs: it is ended)',
    }),
  ),
  stdin_open: opt(
    bool({
      default: false,
      description: 'stdin stays open for bash_job with action stdin; else it is closed',
    }),
  ),
  run_in_background: opt(
    bool({ default: false, description: 'Makes it a numbered job at once; you are told when it ends' }),
  ),
})

const WORDS: JobWords = {
  goOn: () => 'bash_job waits for it or kills it',
  nothingToWrite: 'give text for its stdin, or eof: true to close it',
  closed: job =>
    `the stdin of job ${job} is closed: only a command that bash started with stdin_open: true takes input, until eof`,
}

export function bashTool(facts: SandboxFacts): Tool {
  return defineTool({
    name: 'bash',
    description:
      'Runs a shell command and shows stdout and stderr in order of arrival, at most 2000 lines or 50 KiB: the beginning and the end stay. stdin is closed, unless stdin_open. Each call is a shell of its own: cd and variables do not last. A command that is silent for long goes on as a numbered job, see bash_job.',
    schema: bashSchema,
    idempotent: false,
    announces: true,
    mode: 'exclusive',
    run: (
      {
        command,
        cwd,
        timeout_ms: timeoutMs = DEFAULT_TIMEOUT_MS,
        run_in_background: background = false,
        stdin_open: stdinOpen = false,
      },
      context,
    ) =>
      runCommand({ text: command }, { cwd, timeoutMs, background, stdinOpen, words: WORDS }, context, facts),
  })
}

const bashJobSchema = obj({
  action: opt(
    oneOf(['wait', 'output', 'stdin', 'kill', 'list'], {
      default: 'wait',
      description:
        'wait: until it ends, with its output since you last saw it; output: a part of all its output; stdin: writes text to it; kill: ends it and all that it started; list: all jobs',
    }),
  ),
  job: opt(int({ minimum: 1, description: 'Number of the job; default: the one that runs' })),
  timeout_ms: opt(
    int({
      minimum: 1,
      maximum: MAX_WAIT_MS,
      default: DEFAULT_WAIT_MS,
      description: 'wait, stdin: at most so long; the job goes on',
    }),
  ),
  offset: opt(int({ minimum: 0, description: 'output: byte to begin at; default: 0' })),
  limit: opt(
    int({ minimum: 1, maximum: MAX_LINES, default: MAX_LINES, description: 'output: at most so many lines' }),
  ),
  text: opt(str({ description: 'stdin: written as it is, so end a line with a newline' })),
  eof: opt(bool({ default: false, description: 'stdin: closes it afterwards' })),
})

export function bashJobTool(): Tool {
  return defineTool({
    name: 'bash_job',
    effect: ({ action }) => (action === 'kill' || action === 'stdin' ? 'acts' : 'reads'),
    description:
      'Waits for a numbered job of bash, shows its output, writes to its stdin, or kills it. A job that ends by itself is told to you without asking.',
    schema: bashJobSchema,
    idempotent: false,
    announces: true, // of all that it does only stdin has an effect that must not come twice
    mode: 'shared',
    run: (
      {
        action = 'wait',
        job,
        timeout_ms: timeoutMs = DEFAULT_WAIT_MS,
        offset = 0,
        limit = MAX_LINES,
        text,
        eof = false,
      },
      context,
    ) => askJob({ action, job, timeoutMs, offset, limit, text, eof, words: WORDS }, context),
  })
}
