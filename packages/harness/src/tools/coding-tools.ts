/** The harness's own names: `edit` and `bash`. What they do is in edit.ts and command.ts. */
import { arr, bool, int, obj, opt, str } from '@earendil-works/pi-schema'
import type { Tool } from '../tool.ts'
import { runCommand } from './command.ts'
import { defineTool } from './define-tool.ts'
import { editFile } from './edit.ts'
import type { EditNames } from './edit-problems.ts'
import { tidyPath } from './paths.ts'
import type { SandboxFacts } from './sandbox-facts.ts'

const DEFAULT_TIMEOUT_MS = 1_800_000
const MAX_TIMEOUT_MS = 2_147_483_647 // of exec/2
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
      description: 'Ends the command, and all that it started, after this time',
    }),
  ),
})

export function bashTool(facts: SandboxFacts): Tool {
  return defineTool({
    name: 'bash',
    description:
      'Runs a shell command and shows stdout and stderr in order of arrival, at most 2000 lines or 50 KiB: the beginning and the end stay. stdin is closed. Each call is a shell of its own: cd and variables do not last.',
    schema: bashSchema,
    idempotent: false,
    mode: 'exclusive',
    run: ({ command, cwd, timeout_ms = DEFAULT_TIMEOUT_MS }, context) =>
      runCommand({ text: command }, { cwd, timeoutMs: timeout_ms }, context, facts),
  })
}
