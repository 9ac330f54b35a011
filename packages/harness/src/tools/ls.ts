/** The tool `ls`: what is in one directory, directories first. */
import { bool, int, obj, opt, str } from '@earendil-works/pi-schema'
import { countText, MAX_BYTES, MAX_LINES } from '../output/index.ts'
import { MARKER_BYTES } from '../output/limits.ts'
import type { Tool, ToolContext, ToolResult } from '../tool.ts'
import { errorResult } from '../tool-pipeline.ts'
import { defineTool, textResult } from './define-tool.ts'
import { directoryFailure, whatIsAt } from './file-failures.ts'
import { type Place, placeOf } from './paths.ts'
import type { SandboxFacts } from './sandbox-facts.ts'
import { visibleText } from './visible-text.ts'

const DEFAULT_LIMIT = 500
const MAX_LIMIT = 5000
const MAX_LISTED = 10_000 // names of a directory that an endpoint lists at once

const schema = obj({
  path: opt(str({ default: '.', description: 'Directory to list; default: the working directory' })),
  all: opt(bool({ default: false, description: 'Also names that begin with a dot' })),
  limit: opt(
    int({ minimum: 1, maximum: MAX_LIMIT, default: DEFAULT_LIMIT, description: 'How many at most' }),
  ),
})

const DESCRIPTION = 'Lists a directory: first its directories (name/), then files, links as name -> target.'

export function lsTool(facts: SandboxFacts): Tool {
  return defineTool({
    name: 'ls',
    effect: () => 'reads',
    description: DESCRIPTION,
    schema,
    idempotent: true,
    mode: 'shared',
    async run({ path = '.', all = false, limit = DEFAULT_LIMIT }, context) {
      const placed = await placeOf(path, context, facts)
      if (!placed.ok) return placed.result
      try {
        return (await directoryAt(placed.place, context)) ?? (await listed(placed.place, all, limit, context))
      } catch (error) {
        return await directoryFailure(error, placed.place, context)
      }
    },
  })
}

/** Why it is no directory to look into; null when it is one. */
export async function directoryAt(place: Place, context: ToolContext): Promise<ToolResult | null> {
  const { exec, path } = place
  const found = await whatIsAt(place, context.signal)
  if (found?.kind === 'directory') return null
  if (found) {
    const advice = found.kind === 'file' ? 'use read' : 'it was not opened'
    return errorResult('wrong_kind', `${path} is a ${found.kind}, not a directory: ${advice}`, {
      path,
      kind: found.kind,
    })
  }
  await exec.list(path, context.signal, { depth: 1, limit: 1 }) // says why
  return null
}

async function listed(place: Place, all: boolean, limit: number, context: ToolContext): Promise<ToolResult> {
  const { entries, truncated } = await place.exec.list(place.path, context.signal, {
    depth: 1,
    limit: MAX_LISTED,
  })
  const shown = entries.filter(entry => all || !entry.path.startsWith('.'))
  const directories = shown.filter(entry => entry.kind === 'directory')
  const others = shown.filter(entry => entry.kind !== 'directory')
  const lines: string[] = []
  let size = 0
  for (const { path, kind, target } of [...directories, ...others].slice(0, Math.min(limit, MAX_LINES - 2))) {
    const name = visibleText(path, 'whole')
    const link = target === undefined ? '' : ` -> ${visibleText(target, 'whole')}`
    const line = `${name}${kind === 'directory' ? '/' : link}`
    size += Buffer.byteLength(line) + 1
    if (size > MAX_BYTES - MARKER_BYTES) break
    lines.push(line)
  }
  const hidden = entries.length - shown.length
  if (shown.length === 0) {
    lines.push(
      hidden > 0 ? `[only names with a dot: ${countText(hidden)}; all shows them]` : '[empty directory]',
    )
  }
  if (truncated) {
    lines.push(
      `[${countText(lines.length)} of more than ${countText(MAX_LISTED)}, of which only these were sorted]`,
    )
  } else if (lines.length < shown.length) {
    lines.push(`[${countText(lines.length)} of ${countText(shown.length)}]`)
  }
  return textResult(lines.join('\n'), { path: place.path, entries: shown.length })
}
