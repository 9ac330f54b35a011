/** The tool `grep`: lines of files that match, with the same answer whether `rg` or `grep` finds them. */
import { bool, int, obj, opt, str } from '@earendil-works/pi-schema'
import { MAX_BYTES, MAX_LINES } from '../output/index.ts'
import { countText, MARKER_BYTES } from '../output/limits.ts'
import type { Tool, ToolContext, ToolResult } from '../tool.ts'
import { errorResult } from '../tool-pipeline.ts'
import { defineTool, textResult } from './define-tool.ts'
import { directoryFailure, type Found, fileFailure, whatIsAt } from './file-failures.ts'
import { type Place, placeOf } from './paths.ts'
import type { SandboxFacts } from './sandbox-facts.ts'
import { asUtf8, type ByteText, byPath, bytesOfText, nameOf, shownName } from './search/byte-text.ts'
import type { SearchEngine } from './search/engine.ts'
import type { FoundLine } from './search/match-reader.ts'
import { pathGlob } from './search/path-glob.ts'
import { posixPattern } from './search/posix-pattern.ts'
import { MAX_MATCHES, type Query, type SearchedFiles, searchLines } from './search/search-lines.ts'
import { walk } from './search/walk.ts'
import { visibleText } from './visible-text.ts'

const DEFAULT_LIMIT = 100
const MAX_CONTEXT = 100
const MAX_LINE_CHARS = 500

const context = (what: string) =>
  opt(int({ minimum: 0, maximum: MAX_CONTEXT, description: `Lines to show ${what} each match` }))

const schema = obj({
  pattern: str({ description: 'Regular expression of ripgrep, tried on each line' }),
  path: opt(
    str({ default: '.', description: 'Directory or file to search; default: the working directory' }),
  ),
  glob: opt(
    str({ description: 'Only files whose name (with /: whose path) matches, e.g. *.ts or src/**/*.ts' }),
  ),
  ignore_case: opt(bool({ default: false, description: 'Upper and lower case are the same' })),
  literal: opt(bool({ default: false, description: 'The pattern is a text, not an expression' })),
  context: context('before and after'),
  before: context('before'),
  after: context('after'),
  limit: opt(
    int({
      minimum: 1,
      maximum: MAX_MATCHES,
      default: DEFAULT_LIMIT,
      description: 'How many matching lines at most',
    }),
  ),
})

const DESCRIPTION =
  'Finds lines in files: path:line: text, sorted. Hidden files too; not .git, nor what .gitignore and .ignore leave out.'

export function grepTool(facts: SandboxFacts): Tool {
  return defineTool({
    name: 'grep',
    effect: () => 'reads',
    description: DESCRIPTION,
    schema,
    idempotent: true,
    mode: 'shared',
    async run(input, toolContext) {
      const { pattern, path = '.', glob, ignore_case: ignoreCase = false, literal = false } = input
      const wrong = whatIsWrong(pattern)
      if (wrong) return errorResult('invalid_input', wrong)
      const accepts = glob === undefined ? null : pathGlob(glob, 'exact case')
      if (glob !== undefined && !accepts) return errorResult('invalid_input', notAGlob(glob))
      const placed = await placeOf(path, toolContext, facts)
      if (!placed.ok) return placed.result
      const around = input.context ?? 0
      const query = {
        pattern,
        literal,
        ignoreCase,
        before: input.before ?? around,
        after: input.after ?? around,
      }
      try {
        return await grepAt(placed.place, query, accepts, input.limit ?? DEFAULT_LIMIT, toolContext, facts)
      } catch (error) {
        return await directoryFailure(error, placed.place, toolContext)
      }
    },
  })
}

export const notAGlob = (glob: string) =>
  `not a glob: ${JSON.stringify(glob)}. Brackets and braces must end, a backslash needs a character behind it`

function whatIsWrong(pattern: string): string | null {
  if (pattern.includes('\n')) return 'pattern has a line break: lines are searched one by one'
  if (pattern.includes('\0')) return 'pattern has a zero byte'
  return pattern.isWellFormed() ? null : 'pattern has half a surrogate pair'
}

async function grepAt(
  place: Place,
  query: Query,
  accepts: ((path: ByteText) => boolean) | null,
  limit: number,
  context: ToolContext,
  facts: SandboxFacts,
): Promise<ToolResult> {
  const { signal } = context
  const found = await whatIsAt(place, signal)
  if (!found) return await missing(place, context)
  const engine = await facts.searchEngine(place, signal)
  const asked = engine.name === 'rg' ? query : translated(query)
  if ('refusal' in asked) return asked.refusal
  const answer = (choose: typeof accepts) =>
    searchAndTell(place, found, engine, asked, choose, limit, context)
  const byEngine = await answer(accepts)
  // Globs of some versions of ripgrep go over no line break, so it shows what an ignore file leaves out.
  return byEngine ?? (await answer(() => true)) ?? errorResult('internal', 'the search gave no answer')
}

/** Null: the engine's own walk of the tree is not to be relied on here. */
async function searchAndTell(
  place: Place,
  found: Found,
  engine: SearchEngine,
  query: Query,
  accepts: ((path: ByteText) => boolean) | null,
  limit: number,
  context: ToolContext,
): Promise<ToolResult | null> {
  const searched = await whatToSearch(place, found, engine, accepts, context)
  if ('refusal' in searched) return searched.refusal
  const lines = createLineList(limit, query)
  let hasBreak = false
  const onLine = (line: FoundLine) => {
    hasBreak ||= line.path.includes('\n')
    return lines.add(line)
  }
  const end = await searchLines(engine, searched.place, searched.files, query, onLine, context.signal)
  if (end.badPattern !== null) return badPattern(end.badPattern)
  hasBreak ||= end.unreadable.some(path => path.includes('\n'))
  if (searched.files === null && hasBreak) return null
  const unreadable = [...searched.unreadable, ...end.unreadable]
  const notes = [...searched.notes, ...unreadableNote(unreadable, 'searched')]
  return textResult([...lines.finish(), ...notes].join('\n'), {
    path: place.path,
    engine: engine.name,
    matches: lines.matches(),
  })
}

/** Rejects as the file calls do, with the names that are near. */
async function missing(place: Place, context: ToolContext): Promise<ToolResult> {
  try {
    await place.exec.readFile(place.path, context.signal, { start: 0, end: 0 })
    return errorResult('not_found', `no such file: ${place.path}`, { path: place.path })
  } catch (error) {
    return await fileFailure(error, place, context)
  }
}

type Searched = {
  place: Place
  files: SearchedFiles
  unreadable: readonly ByteText[]
  notes: readonly string[]
}

async function whatToSearch(
  place: Place,
  found: Found,
  engine: SearchEngine,
  accepts: ((path: ByteText) => boolean) | null,
  { signal }: ToolContext,
): Promise<Searched | { refusal: ToolResult }> {
  if (found.kind === 'file') {
    const path = bytesOfText(place.path)
    const name = nameOf(path)
    const directory = place.path.slice(0, Math.max(1, place.path.lastIndexOf('/')))
    // To be told as a failure of this very file, not as one of many.
    await place.exec.readFile(place.path, signal, { start: 0, end: 1 })
    return { place: { ...place, path: directory }, files: [name], unreadable: [], notes: [] }
  }
  if (found.kind !== 'directory') {
    const text = `${place.path} is a ${found.kind}, neither a file nor a directory: it was not opened`
    return { refusal: errorResult('wrong_kind', text, { path: place.path, kind: found.kind }) }
  }
  if (engine.name === 'rg' && !accepts) return { place, files: null, unreadable: [], notes: [] }
  const { entries, isCut } = await walk(place, signal)
  const files = entries.filter(({ kind, path }) => kind === 'file' && (!accepts || accepts(path)))
  const shut = entries.filter(({ kind, isReadable }) => kind === 'directory' && !isReadable)
  return {
    place,
    files: files.filter(file => file.isReadable).map(file => file.path),
    unreadable: [...shut, ...files.filter(file => !file.isReadable)].map(entry => entry.path),
    notes: isCut ? [CUT_NOTE] : [],
  }
}

export const CUT_NOTE = '[the tree is too large and only a part of it was looked at: give a path further in]'

function translated(query: Query): Query | { refusal: ToolResult } {
  if (query.literal) return query
  const posix = posixPattern(query.pattern)
  if (posix.ok) {
    return { ...query, pattern: posix.pattern, ignoreCase: query.ignoreCase || posix.ignoreCase }
  }
  if (posix.isWrong) return { refusal: badPattern(posix.reason) }
  const text = `pattern: ${posix.reason}, and this sandbox has no ripgrep: install it, write the pattern another way, or set literal`
  return { refusal: errorResult('invalid_input', text) }
}

const badPattern = (reason: string) =>
  errorResult('invalid_input', `bad pattern: ${reason}. Mend it, or set literal to search for it as a text`)

/** The first by name, and how many more; the names as an engine shows them. */
export function unreadableNote(paths: readonly ByteText[], what: 'searched' | 'listed'): string[] {
  const [first, ...more] = paths.map(path => ({ path: asUtf8(path) })).sort(byPath)
  if (!first) return []
  const rest = more.length > 0 ? `, and ${countText(more.length)} more` : ''
  return [`[not ${what}, permission denied: ${shownName(first.path) || '.'}${rest}]`]
}

function createLineList(limit: number, { before, after }: Query) {
  const shown: string[] = []
  let size = 0
  let matches = 0
  let shownMatches = 0
  let isFull = false
  let last: { path: ByteText; line: number } | null = null
  let lastMatch: { path: ByteText; line: number } | null = null

  const show = (text: string): boolean => {
    const bytes = Buffer.byteLength(text) + 1
    isFull ||= size + bytes > MAX_BYTES - MARKER_BYTES || shown.length >= MAX_LINES - 2
    if (isFull) return false
    size += bytes
    shown.push(text)
    return true
  }
  const belongs = ({ path, line }: FoundLine) =>
    matches < limit || (matches === limit && path === lastMatch?.path && line <= lastMatch.line + after)

  return {
    matches: () => matches,
    add(found: FoundLine): boolean {
      const { path, line, isMatch } = found
      if (isMatch) matches++
      if (matches > MAX_MATCHES) return false
      if (isFull || (isMatch ? matches > limit : !belongs(found))) return true
      const isNext = last?.path === path && last.line + 1 === line
      if ((before > 0 || after > 0) && last && !isNext) show('--')
      last = { path, line }
      const sign = isMatch ? ':' : '-'
      if (show(`${shownName(path)}${sign}${line}${sign} ${shownLine(found.text)}`) && isMatch) shownMatches++
      if (isMatch) lastMatch = { path, line }
      return true
    },
    finish(): string[] {
      if (matches === 0) return ['no matches']
      if (shownMatches === Math.min(matches, MAX_MATCHES)) return shown
      const more = Math.min(matches, MAX_MATCHES) - shownMatches
      return [...shown, moreNote(shownMatches, more, isFull)]
    },
  }
}

/** `isFull`: a higher limit would show no more. */
export function moreNote(shown: number, more: number, isFull: boolean): string {
  const advice = isFull ? 'narrow the pattern or the path' : 'narrow the pattern or raise limit'
  return `[${countText(shown)} ${shown === 1 ? 'match' : 'matches'} shown, at least ${countText(more)} more: ${advice}]`
}

function shownLine(bytes: Uint8Array): string {
  const chars = Array.from(Buffer.from(bytes).toString().replace(/\r$/, ''))
  const text = visibleText(chars.slice(0, MAX_LINE_CHARS).join(''))
  return chars.length > MAX_LINE_CHARS ? `${text}…` : text
}
