/** Runs the search over a tree or over some files of it and hands out the lines in order of path and line. */
import type { ExecChunk } from '@beige/sandbox'
import { fail } from '../../errors.ts'
import { NO_SUCH_DIRECTORY } from '../command-result.ts'
import type { Place } from '../paths.ts'
import { type ByteText, bytesFrom } from './byte-text.ts'
import type { SearchEngine } from './engine.ts'
import { createMatchReader, type FoundLine, MAX_LINE_BYTES, type MatchReader } from './match-reader.ts'
import { type NameChunk, nameChunks, scriptWith } from './name-arguments.ts'

export const MAX_MATCHES = 10_000 // of a search; behind them nothing is looked for
const MAX_STDERR_BYTES = 256 * 1024
const MAX_PRINTED_BYTES = 4096 + 16 + MAX_LINE_BYTES // a path, a line number, a line

export type Query = { pattern: string; literal: boolean; ignoreCase: boolean; before: number; after: number }

/** Null: the whole tree at the place, which only `rg` searches by itself. */
export type SearchedFiles = readonly ByteText[] | null

export type SearchEnd = {
  /** What the engine says against the pattern. */
  badPattern: string | null
  /** What could not be opened, as the engine says; in no order. */
  unreadable: readonly ByteText[]
}

/** `onLine` answers false when it has enough. */
export async function searchLines(
  engine: SearchEngine,
  place: Place,
  files: SearchedFiles,
  query: Query,
  onLine: (line: FoundLine) => boolean,
  signal: AbortSignal,
): Promise<SearchEnd> {
  const unreadable: ByteText[] = []
  const tree: NameChunk<ByteText> = { items: [], arguments: ['.'], isEscaped: false }
  for (const chunk of files === null ? [tree] : nameChunks(files, file => file)) {
    const { command, reader } = commandFor(engine, query, chunk)
    const stop = new AbortController()
    const stderr: Uint8Array[] = []
    const onChunk = ({ stream, bytes }: ExecChunk) => {
      if (stream === 'stderr') {
        if (stderr.reduce((sum, part) => sum + part.length, 0) < MAX_STDERR_BYTES) stderr.push(bytes)
        return
      }
      for (const line of stop.signal.aborted ? [] : reader.push(bytes)) {
        if (onLine(line)) continue
        stop.abort()
        return
      }
    }
    try {
      const either = AbortSignal.any([signal, stop.signal])
      const end = await place.exec.stream({ ...command, cwd: place.path }, onChunk, either)
      if (end.exitCode === NO_SUCH_DIRECTORY) throw fail('shut_directory', { path: place.path })
    } catch (error) {
      signal.throwIfAborted()
      if (!stop.signal.aborted) throw error
    }
    const said = complaints(Buffer.concat(stderr))
    unreadable.push(...said.unreadable)
    if (said.rest !== '') return { badPattern: said.rest, unreadable }
    if (stop.signal.aborted) break
  }
  return { badPattern: null, unreadable }
}

function commandFor(engine: SearchEngine, query: Query, chunk: NameChunk<ByteText>) {
  const count = `--max-count=${MAX_MATCHES + 1}`
  const kind = query.literal ? '--fixed-strings' : null
  const context = [
    ...(query.before > 0 ? ['-B', `${query.before}`] : []),
    ...(query.after > 0 ? ['-A', `${query.after}`] : []),
  ]
  if (engine.name === 'rg') {
    const options = [...RG, count, ...(kind ? [kind] : []), ...(query.ignoreCase ? ['--ignore-case'] : [])]
    const argv = ['rg', ...options, ...context, '-e', query.pattern, '--']
    const [program, ...args] = argv
    const command = chunk.isEscaped
      ? scriptWith(BOUNDED, argv, chunk)
      : { command: program ?? '', args: [...args, ...chunk.arguments] }
    return { command, reader: createMatchReader(null) }
  }
  const options = [query.literal ? '-F' : '-E', '-a', '-n', '-s', ...(query.ignoreCase ? ['-i'] : [])]
  options.push('-m', `${MAX_MATCHES + 1}`, ...context)
  const env = { LC_ALL: engine.locale, GREP_OPTIONS: null, GREP_COLORS: null }
  const reader: MatchReader = createMatchReader(engine.namesFiles ? null : chunk.items)
  const command = engine.namesFiles
    ? scriptWith(BOUNDED, ['grep', ...options, '-H', '-Z', '-e', query.pattern, '--'], chunk)
    : scriptWith(EACH, [options.join(' '), query.pattern], chunk) // words of ours alone, split by the shell
  return { command: { ...command, env }, reader }
}

// `--text` and no encoding: what POSIX grep -a does. `--sort` makes it one thread, and the same answer each time.
const RG = [
  '--no-config',
  '--color=never',
  '--no-heading',
  '--with-filename',
  '--null',
  '--line-number',
  '--text',
  '--encoding=none',
  '--no-mmap',
  '--hidden',
  '--no-require-git',
  '--no-ignore-global',
  '--no-ignore-exclude',
  '--no-ignore-messages',
  '--glob=!.git',
  '--sort=path',
  `--max-columns=${MAX_LINE_BYTES}`,
  '--max-columns-preview',
]

// A line of a hundred megabytes is cut before it goes anywhere.
const BOUNDED = `"$@" | cut -b 1-${MAX_PRINTED_BYTES}`
// For a grep that can not end a name with a zero byte: one run a file, its lines behind the file's number.
const EACH = `
options=$1 pattern=$2; shift 2; n=0
for f; do
  n=$((n + 1))
  grep $options -e "$pattern" -- "$f" | cut -b 1-${MAX_PRINTED_BYTES} | sed "s/^/$n:/"
done
`

const UNREADABLE =
  /^(?:rg: )?(\.\/[\s\S]*?|\.)(?:: IO error for operation on \1)?: [^\n:]* \(os error \d+\)\n/gm

/**
 * Takes the paths that could not be opened out of the messages; the rest is about the pattern, and short. In a message a name
 * that is not UTF-8 is one that was made so.
 */
function complaints(stderr: Buffer): { unreadable: ByteText[]; rest: string } {
  const unreadable: ByteText[] = []
  const rest = stderr.toString('latin1').replace(UNREADABLE, (_, path: string) => {
    unreadable.push(bytesFrom(Buffer.from(path.replace(/^\.\/?/, ''), 'latin1')))
    return ''
  })
  const text = Buffer.from(rest, 'latin1').toString().trim()
  const lines = text.split('\n')
  const line = lines.find(candidate => /^(rg: )?error: /.test(candidate)) ?? lines[0] ?? ''
  return { unreadable, rest: line.replace(/^(rg: )?error: /, '').replace(/^(rg|grep): /, '') }
}
