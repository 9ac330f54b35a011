/** Why an edit did not happen, told under the parameter names that its caller knows. Pure. */
import type { Edit, EditProblem, NearestRegion } from '../edit-engine/index.ts'
import { countText, cutText } from '../output/index.ts'
import type { ToolErrorCode, ToolResult } from '../tool.ts'
import { errorResult } from '../tool-pipeline.ts'

const MAX_ERROR_BYTES = 600
const MAX_EXCERPT_BYTES = 2048 // of an error that shows a piece of the file

export type EditNames = { oldText: string; newText: string; replaceAll: string; edits: string }

export function problemResult(
  problem: EditProblem,
  path: string,
  edits: readonly Edit[],
  names: EditNames,
): ToolResult {
  const result = (code: ToolErrorCode, text: string, maxBytes = MAX_ERROR_BYTES) =>
    errorResult(code, cutText(`${text}${edits.length > 1 ? '\nNone of the edits was made' : ''}`, maxBytes), {
      path,
    })
  // Which of several edits it is, counted as in the input.
  const where = (edit: number) => (edits.length > 1 ? `${names.edits}[${edit}].` : '')
  switch (problem.code) {
    case 'empty_search':
      return result(
        'invalid_input',
        `${where(problem.edit)}${names.oldText} is empty: to create or replace a whole file use write`,
      )
    case 'no_change':
      return result(
        'no_change',
        `${where(problem.edit)}${names.oldText} and ${names.newText} are the same: ${path} stays as it is`,
      )
    case 'no_match':
      return result(
        'no_match',
        noMatch(problem.nearest, `${where(problem.edit)}${names.oldText}`, path),
        MAX_EXCERPT_BYTES,
      )
    case 'not_unique': {
      const { edit, count, lines } = problem
      const more = count > lines.length ? ' …' : ''
      const text = `${where(edit)}${names.oldText} is at ${countText(count, 'place')} in ${path}: lines ${lines.join(', ')}${more}. Add lines around it until it is at one, or set ${names.replaceAll}`
      return result('not_unique', text)
    }
    case 'too_many':
      return result(
        'limit',
        `${where(problem.edit)}${names.oldText} is at more than ${countText(problem.max, 'place')} in ${path}: use a command, e.g. sed -i`,
      )
    case 'overlap': {
      const text = `${names.edits}[${problem.edit}] and ${names.edits}[${problem.other}] change the same text, line ${problem.line} of ${path}: put them into one edit`
      return result('overlap', text)
    }
    case 'binary':
      return result(
        'binary',
        `${path} is ${problem.what} and can not be edited: use a command or write it anew`,
      )
    case 'internal':
      return result(
        'internal',
        `the edit of ${path} would have changed other bytes than asked for: nothing was written`,
      )
    default:
      return unknownProblem(problem)
  }
}

function noMatch(nearest: NearestRegion | null, name: string, path: string): string {
  const text = `${name} is not in ${path}`
  if (!nearest) return `${text}, and nothing like it: read the file again`
  const { fromLine, toLine, excerpt, difference } = nearest
  const differs = difference
    ? `\nFirst difference at line ${difference.line}, column ${difference.column}: the file has ${difference.file}, ${name} has ${difference.wanted}`
    : ''
  return `${text}. Nearest are lines ${fromLine} to ${toLine}:${differs}\n${excerpt}`
}

function unknownProblem(problem: never): ToolResult {
  return errorResult('internal', `unknown edit problem ${JSON.stringify(problem)}`)
}
