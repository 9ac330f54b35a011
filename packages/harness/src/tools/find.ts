/** The tool `find`: files and directories by name or path. No program of the sandbox matches, so all sandboxes answer alike. */
import { int, obj, opt, str } from '@earendil-works/pi-schema'
import { MAX_BYTES, MAX_LINES } from '../output/index.ts'
import { MARKER_BYTES } from '../output/limits.ts'
import type { Tool, ToolContext, ToolResult } from '../tool.ts'
import { errorResult } from '../tool-pipeline.ts'
import { defineTool, textResult } from './define-tool.ts'
import { directoryFailure } from './file-failures.ts'
import { CUT_NOTE, moreNote, notAGlob, unreadableNote } from './grep.ts'
import { directoryAt } from './ls.ts'
import { type Place, placeOf } from './paths.ts'
import type { SandboxFacts } from './sandbox-facts.ts'
import { shownName } from './search/byte-text.ts'
import type { Glob } from './search/glob.ts'
import { pathGlob } from './search/path-glob.ts'
import { walk } from './search/walk.ts'

const DEFAULT_LIMIT = 1000
const MAX_LIMIT = 10_000

const schema = obj({
  pattern: str({
    description:
      'Glob: without / it is tried on names, e.g. *.ts; else on paths, e.g. src/**/*.ts. Lower case matches any case',
  }),
  path: opt(str({ default: '.', description: 'Directory to look in; default: the working directory' })),
  limit: opt(
    int({ minimum: 1, maximum: MAX_LIMIT, default: DEFAULT_LIMIT, description: 'How many at most' }),
  ),
})

const DESCRIPTION =
  'Finds files and directories (name/) by a glob, sorted by path. Hidden ones too; not .git, nor what .gitignore and .ignore leave out.'

export function findTool(facts: SandboxFacts): Tool {
  return defineTool({
    name: 'find',
    effect: () => 'reads',
    description: DESCRIPTION,
    schema,
    idempotent: true,
    mode: 'shared',
    async run({ pattern, path = '.', limit = DEFAULT_LIMIT }, context) {
      const glob = pattern.isWellFormed() ? pathGlob(pattern, 'smart case') : null
      if (!glob) return errorResult('invalid_input', notAGlob(pattern))
      const placed = await placeOf(path, context, facts)
      if (!placed.ok) return placed.result
      try {
        return await findAt(placed.place, glob, limit, context)
      } catch (error) {
        return await directoryFailure(error, placed.place, context)
      }
    },
  })
}

async function findAt(place: Place, glob: Glob, limit: number, context: ToolContext): Promise<ToolResult> {
  const refusal = await directoryAt(place, context)
  if (refusal) return refusal
  const { entries, isCut } = await walk(place, context.signal)
  const matches = entries.filter(entry => entry.path !== '' && glob(entry.path))
  const lines: string[] = []
  let size = 0
  for (const { path, kind } of matches.slice(0, Math.min(limit, MAX_LINES - 2))) {
    const line = `${shownName(path)}${kind === 'directory' ? '/' : ''}`
    size += Buffer.byteLength(line) + 1
    if (size > MAX_BYTES - MARKER_BYTES) break
    lines.push(line)
  }
  if (matches.length === 0) lines.push('no matches')
  else if (lines.length < matches.length) {
    lines.push(moreNote(lines.length, matches.length - lines.length, lines.length < limit))
  }
  const shut = entries.filter(({ kind, isReadable }) => kind === 'directory' && !isReadable)
  const notes = unreadableNote(
    shut.map(entry => entry.path),
    'listed',
  )
  const text = [...lines, ...(isCut ? [CUT_NOTE] : []), ...notes].join('\n')
  return textResult(text, { path: place.path, matches: matches.length })
}
