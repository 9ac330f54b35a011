/** The tool `write`: a whole file, atomically. The same under every name (H40). */
import { obj, str } from '@earendil-works/pi-schema'
import { countText, sizeText } from '../output/index.ts'
import type { Tool, ToolContext, ToolResult } from '../tool.ts'
import { defineTool, textResult } from './define-tool.ts'
import { fileFailure, isReadOnly, readOnly, whatIsAt, wrongKind } from './file-failures.ts'
import { countLines } from './line-window.ts'
import { type Place, placeOf, tidyPath } from './paths.ts'
import type { SandboxFacts } from './sandbox-facts.ts'

const schema = obj({
  path: str({ description: 'File to write: absolute, or relative to the working directory' }),
  content: str({ description: 'The whole new content, taken byte for byte' }),
})

const DESCRIPTION =
  'Writes a whole file: creates it with its directories, or replaces what is there. To change a part of a file, edit it.'

export function writeTool(facts: SandboxFacts): Tool {
  return defineTool({
    name: 'write',
    effect: () => 'writes',
    description: DESCRIPTION,
    schema,
    idempotent: false,
    mode: 'shared',
    lock: input => ({ path: tidyPath(input.path), mode: 'exclusive' }),
    async run({ path, content }, context) {
      const placed = await placeOf(path, context, facts)
      if (!placed.ok) return placed.result
      try {
        return await writeAt(placed.place, Buffer.from(content), context)
      } catch (error) {
        return await fileFailure(error, placed.place, context)
      }
    },
  })
}

async function writeAt(place: Place, bytes: Uint8Array, context: ToolContext): Promise<ToolResult> {
  const { exec, path } = place
  const { signal, seenFiles } = context
  const found = await whatIsAt(place, signal)
  if (found && found.kind !== 'file') return wrongKind(path, found.kind)
  if (found && isReadOnly(found.mode)) return readOnly(path, found.mode)
  // A file that was removed since it was read can be written anew: nothing of anybody's is lost by that.
  const seen = found ? seenFiles.get(path) : undefined
  const { etag, created } = await exec.writeFile(path, bytes, signal, {
    parents: true,
    ...(seen === undefined ? {} : { ifMatch: seen }),
  })
  seenFiles.set(path, etag)
  const size = `${countText(bytes.length, 'byte')}, ${countText(countLines(bytes), 'line')}`
  const isBlind = !created && seen === undefined
  const old = found ? ` (${sizeText(found.size)})` : ''
  const note = isBlind ? `\n[this session had not read the old content${old} that is now replaced]` : ''
  return textResult(`wrote ${path} (${size}, ${created ? 'created' : 'replaced'})${note}`, {
    path,
    bytes: bytes.length,
    created,
  })
}
