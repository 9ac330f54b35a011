/** The tool that changes parts of a file. `edit` and `patch` are its two namings (H40); the work is the edit engine's. */
import { isError } from '@beige/protocol'
import { unifiedDiff } from '../diff.ts'
import { applyEdits, type Edit, type EditResult } from '../edit-engine/index.ts'
import { countText, sizeText } from '../output/index.ts'
import type { ToolContext, ToolResult } from '../tool.ts'
import { errorResult } from '../tool-pipeline.ts'
import { textResult } from './define-tool.ts'
import { type EditNames, problemResult } from './edit-problems.ts'
import { fileFailure, isReadOnly, readOnly } from './file-failures.ts'
import { newLinesOf } from './new-lines.ts'
import { type Place, placeOf } from './paths.ts'
import type { SandboxFacts } from './sandbox-facts.ts'

const MAX_FILE_BYTES = 8 * 1024 * 1024 // what is fetched, held twice and written back

export type EditInput = {
  path: string
  /** As given: what is missing is told under the caller's names. */
  single: { oldText: string | undefined; newText: string | undefined; replaceAll: boolean | undefined }
  several: readonly Edit[] | undefined
}

export async function editFile(
  input: EditInput,
  names: EditNames,
  context: ToolContext,
  facts: SandboxFacts,
): Promise<ToolResult> {
  const edits = editsOf(input, names)
  if (typeof edits === 'string') return errorResult('invalid_input', edits)
  const placed = await placeOf(input.path, context, facts)
  if (!placed.ok) return placed.result
  try {
    return await attempt(placed.place, edits, names, context)
  } catch (error) {
    if (!isError(error, 'file_changed')) return await fileFailure(error, placed.place, context)
  }
  // Somebody else wrote between our read and our write: once more, on what is there now.
  try {
    return await attempt(placed.place, edits, names, context)
  } catch (error) {
    return await fileFailure(error, placed.place, context)
  }
}

function editsOf({ single, several }: EditInput, names: EditNames): readonly Edit[] | string {
  const { oldText, newText, replaceAll } = single
  const hasSingle = oldText !== undefined || newText !== undefined || replaceAll !== undefined
  if (several && hasSingle)
    return `give either ${names.edits}, or ${names.oldText} and ${names.newText}, not both`
  if (several) return several
  if (oldText === undefined || newText === undefined) {
    return `${oldText === undefined ? names.oldText : names.newText} is missing: give ${names.oldText} and ${names.newText}, or ${names.edits}`
  }
  return [{ oldText, newText, replaceAll: replaceAll ?? false }]
}

async function attempt(
  { exec, path }: Place,
  edits: readonly Edit[],
  names: EditNames,
  context: ToolContext,
): Promise<ToolResult> {
  const { signal, seenFiles } = context
  const file = await exec.readFile(path, signal, { start: 0, end: MAX_FILE_BYTES })
  if (file.bytes.length < file.size) {
    const text = `${path} has ${sizeText(file.size)}: files over ${sizeText(MAX_FILE_BYTES)} are not edited. Change it with a command, e.g. sed -i`
    return errorResult('limit', text, { path, size: file.size })
  }
  if (isReadOnly(file.mode)) return readOnly(path, file.mode)
  const result = applyEdits(file.bytes, edits)
  if (!result.ok) return problemResult(result.problem, path, edits, names)
  const { etag } = await exec.writeFile(path, result.bytes, signal, { ifMatch: file.etag })
  seenFiles.set(path, etag)
  return done(path, file.bytes, result)
}

function done(path: string, before: Uint8Array, result: EditResult & { ok: true }): ToolResult {
  const count = result.hunks.length
  const how = result.folded ? ', matched apart from quotes, dashes, spaces or letter forms' : ''
  const text = `edited ${path} (${countText(count, 'replacement')}${how})`
  const diff = unifiedDiff(path, before, result.bytes)
  return textResult(`${text}\n${newLinesOf(result.bytes, result.hunks)}`, {
    path,
    replacements: count,
    ...(diff ? { diff: diff.text, added: diff.added, removed: diff.removed } : {}),
  })
}
