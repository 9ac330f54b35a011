/** The gateway's names: `patch` and `exec`. What they do is in edit.ts and command.ts, as for `edit` and `bash` (H40). */
import { arr, bool, int, obj, opt, str } from '@earendil-works/pi-schema'
import type { Tool } from '../tool.ts'
import { errorResult } from '../tool-pipeline.ts'
import { runCommand } from './command.ts'
import { defineTool } from './define-tool.ts'
import { editFile } from './edit.ts'
import type { EditNames } from './edit-problems.ts'
import { tidyPath } from './paths.ts'
import type { SandboxFacts } from './sandbox-facts.ts'

const DEFAULT_TIMEOUT_S = 900
const MAX_TIMEOUT_S = 2_147_483 // 2^31 ms, the limit of exec/2
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
      default: DEFAULT_TIMEOUT_S,
      description: 'Seconds after which the command, and all that it started, is ended',
    }),
  ),
})

export function execTool(facts: SandboxFacts): Tool {
  return defineTool({
    name: 'exec',
    description:
      'Runs a command and shows stdout and stderr in order of arrival, at most 2000 lines or 50 KiB: the beginning and the end stay. stdin is closed. Each call is a process of its own: cd and variables do not last.',
    schema: execSchema,
    idempotent: false,
    mode: 'exclusive',
    async run({ command, args, cwd, timeout = DEFAULT_TIMEOUT_S }, context) {
      const options = { cwd, timeoutMs: timeout * 1000 }
      const [program, ...rest] = args ?? []
      if (command !== undefined && program === undefined) {
        return await runCommand({ text: command }, options, context, facts)
      }
      if (command === undefined && program !== undefined) {
        return await runCommand({ argv: [program, ...rest] }, options, context, facts)
      }
      return errorResult(
        'invalid_input',
        'give either command, a text for the shell, or args, a program and its arguments',
      )
    },
  })
}
