/**
 * What is in a tree and not ignored, level by level: one script lists some directories with their ignore files, and what is
 * ignored is not gone into. It needs nothing of the sandbox but `sh`, `head`, `tr` and `pwd`.
 */
import { isError } from '@beige/protocol'
import { fail } from '../../errors.ts'
import { NO_SUCH_DIRECTORY } from '../command-result.ts'
import type { Place } from '../paths.ts'
import { type ByteText, byPath, bytesFrom, bytesOfText, joined, nameOf } from './byte-text.ts'
import {
  IGNORE_FILES,
  type IgnoreLevel,
  type IgnoreRules,
  isIgnored,
  parseIgnoreFile,
} from './ignore-rules.ts'
import { nameChunks, scriptWith } from './name-arguments.ts'

export const MAX_ENTRIES = 500_000
const MAX_LEVELS = 2048 // paths are shorter than that
const NUL = 0

export type WalkedEntry = {
  path: ByteText
  kind: 'file' | 'directory' | 'link' | 'other'
  isReadable: boolean
}
export type Walked = {
  /** Sorted by path. */
  entries: readonly WalkedEntry[]
  /** There were more than `MAX_ENTRIES`. */
  isCut: boolean
}

// Records end with a zero byte. Ignore files have theirs taken out: no name has one, so no rule needs one.
const RULES = `
rules() {
  for r in ${IGNORE_FILES.join(' ')}; do
    if [ -f "$1/$r" ] && [ -r "$1/$r" ]; then
      printf 'i%s\\0' "$r"; head -c 1048576 "$1/$r" | tr '\\000' '\\001'; printf '\\0'
    fi
  done
  if [ -e "$1/.git" ]; then printf 'g\\0'; fi
}
`
const LIST = `LC_ALL=C; export LC_ALL
${RULES}
for d; do
  printf '=\\0'
  if ! [ -r "$d" ] || ! [ -x "$d" ]; then printf '!\\0'; continue; fi
  rules "$d"
  for f in "$d"/* "$d"/.[!.]* "$d"/..?*; do
    if [ -L "$f" ]; then k=l
    elif [ -d "$f" ]; then k=d
    elif [ -f "$f" ]; then if [ -r "$f" ]; then k=f; else k=u; fi
    elif [ -e "$f" ]; then k=o
    else continue; fi
    printf '%s%s\\0' "$k" "\${f##*/}"
  done
done
`
// From the real place of the root upwards; a link does not hide the rules of where it leads.
const ABOVE = `LC_ALL=C; export LC_ALL
${RULES}
p=$(pwd -P; printf .); p=\${p%??}
while [ -n "$p" ] && [ "$p" != / ]; do
  printf 'n%s\\0' "\${p##*/}"
  p=\${p%/*}
  rules "$p"
done
`

type Listed = WalkedEntry & { level: IgnoreLevel }
type Folder = { path: ByteText; above: IgnoreLevel['above'] }

/** Rejects with `walk_failed` where the sandbox has no such commands. */
export async function walk({ exec, path }: Place, signal: AbortSignal): Promise<Walked> {
  const run = async (command: ReturnType<typeof scriptWith>): Promise<Buffer> => {
    const { exitCode, stdout, stderr } = await exec.run({ ...command, cwd: path }, signal).catch(error => {
      if (!isError(error, 'answer_too_large')) throw error
      throw fail(
        'walk_failed',
        { path, reason: 'some directories in it have too many entries at once' },
        error,
      )
    })
    if (exitCode === 0) return Buffer.from(stdout)
    if (exitCode === NO_SUCH_DIRECTORY) throw fail('shut_directory', { path })
    const reason = Buffer.from(stderr).toString().trim().slice(0, 200) || `exit code ${exitCode}`
    throw fail('walk_failed', { path, reason })
  }

  const entries: WalkedEntry[] = []
  const top = levelAbove(await run({ command: 'sh', args: ['-c', ABOVE, 'sh'] }))
  let folders: Folder[] = [{ path: bytesOfText(''), above: top }]
  for (let depth = 0; folders.length > 0 && depth < MAX_LEVELS; depth++) {
    const next: Folder[] = []
    for (const chunk of nameChunks(folders, folder => folder.path)) {
      const listed = readListing(await run(scriptWith(LIST, [], chunk)), chunk.items)
      for (const folder of listed.unreadable) {
        entries.push({ path: folder.path, kind: 'directory', isReadable: false })
      }
      for (const { level, ...entry } of listed.entries) {
        const name = nameOf(entry.path)
        if (name === '.git' || isIgnored(level, name, entry.kind === 'directory')) continue
        if (entry.kind === 'directory') next.push({ path: entry.path, above: { level, name } })
        entries.push(entry)
      }
      if (entries.length > MAX_ENTRIES) return { entries: sorted(entries.slice(0, MAX_ENTRIES)), isCut: true }
    }
    folders = next
  }
  return { entries: sorted(entries), isCut: false }
}

/** A directory that can not be read is there twice: as an entry, and as one that has no contents to show. */
function sorted(entries: WalkedEntry[]): WalkedEntry[] {
  const unreadable = new Set(entries.filter(isShut).map(entry => entry.path))
  return entries
    .filter(entry => entry.kind !== 'directory' || !entry.isReadable || !unreadable.has(entry.path))
    .sort(byPath)
}

const isShut = ({ kind, isReadable }: WalkedEntry) => kind === 'directory' && !isReadable

function readListing(output: Buffer, folders: readonly Folder[]) {
  const entries: Listed[] = []
  const unreadable: Folder[] = []
  let at = -1
  let level: IgnoreLevel = { rules: {}, hasGit: false, above: null }
  const records = recordsOf(output)
  for (const record of records) {
    const folder = folders[at]
    const rest = record.subarray(1)
    const kind = String.fromCharCode(record[0] ?? 0)
    if (kind === '=') {
      at++
      level = { rules: {}, hasGit: false, above: folders[at]?.above ?? null }
    } else if (!folder) continue
    else if (kind === '!') unreadable.push(folder)
    else if (kind === 'g') level.hasGit = true
    else if (kind === 'i') level.rules = withRules(level.rules, rest, records.next().value)
    else {
      const path = joined(folder.path, bytesFrom(rest))
      entries.push({ path, kind: KINDS[kind] ?? 'other', isReadable: kind !== 'u', level })
    }
  }
  return { entries, unreadable }
}

const KINDS: Readonly<Record<string, WalkedEntry['kind']>> = {
  f: 'file',
  u: 'file',
  d: 'directory',
  l: 'link',
  o: 'other',
}

/** The levels from the directory above the root to the top of the file system, and the name of the root in them. */
function levelAbove(output: Buffer): IgnoreLevel['above'] {
  const found: { name: ByteText; level: IgnoreLevel }[] = []
  const records = recordsOf(output)
  for (const record of records) {
    const rest = record.subarray(1)
    const kind = String.fromCharCode(record[0] ?? 0)
    if (kind === 'n') {
      const level: IgnoreLevel = { rules: {}, hasGit: false, above: null }
      const below = found.at(-1)
      found.push({ name: bytesFrom(rest), level })
      if (below) below.level.above = { level, name: bytesFrom(rest) }
      continue
    }
    const level = found.at(-1)?.level
    if (!level) continue
    if (kind === 'g') level.hasGit = true
    else if (kind === 'i') level.rules = withRules(level.rules, rest, records.next().value)
  }
  return found[0] ?? null
}

function withRules(rules: IgnoreRules, name: Buffer, content: Buffer | undefined): IgnoreRules {
  const file = IGNORE_FILES.find(known => known === name.toString('latin1'))
  return file ? { ...rules, [file]: parseIgnoreFile(content ?? Buffer.alloc(0)) } : rules
}

function* recordsOf(output: Buffer): Generator<Buffer, undefined> {
  for (let start = 0; start < output.length; ) {
    const end = output.indexOf(NUL, start)
    if (end < 0) return
    yield output.subarray(start, end)
    start = end + 1
  }
}
