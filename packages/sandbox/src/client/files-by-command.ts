/**
 * File calls for endpoints without the files API: small POSIX scripts whose paths are arguments, never text of the script
 * (H32, H33). They behave as the API does and need `sh`, `cat`, `stat`, `mktemp`, `mv`, `find`, `head`, `tail`, `readlink`.
 */
import type { FileKind, FileList } from '@beige/protocol'
import { fail } from '../errors.ts'
import type { Command, ExecResult, FileCalls } from '../exec-client.ts'
import { MAX_LIST_DEPTH, MAX_LIST_ENTRIES } from './files-by-api.ts'
import { scriptFailure } from './script-failure.ts'

const CHANGED = 65

// Messages end with the system's words, which tell the error; so they must be those of the C locale.
const CHECK = `
set -u
LC_ALL=C; export LC_ALL
refuse() { printf '%s\\n' "$1" >&2; exit 67; }
# A path of its own: "-" and "-n" are names here, and no command may take them for options.
case $1 in /*) p=$1 ;; *) p=./$1 ;; esac
there() { e=$(stat "$p" 2>&1 >/dev/null) || refuse "$e"; }
leads() { e=$(stat -L "$p" 2>&1 >/dev/null) || refuse "$e"; }
`
const READ = `${CHECK}
leads
[ -d "$p" ] && refuse 'it is a directory'
[ -f "$p" ] || refuse 'it is not a regular file'
[ -r "$p" ] || refuse 'Permission denied'
stat -L -c '%f %s %Y %i' "$p" || exit 1
if [ "$#" -gt 1 ]; then tail -c "+$2" "$p" | head -c "$3"; else cat "$p"; fi
`
const WRITE = `${CHECK}
want=$2 mode=$3 parents=$4 links=0
# A link is followed to its target, which need not be there; the dot keeps newlines at the end of a name.
while [ -L "$p" ]; do
  links=$((links + 1))
  [ "$links" -le 40 ] || refuse 'Too many levels of symbolic links'
  t=$(readlink "$p"; printf .); t=\${t%??}
  case $t in /*) p=$t ;; *) p=\${p%/*}/$t ;; esac
done
dir=\${p%/*}; [ -n "$dir" ] || dir=/
[ "$parents" != 1 ] || [ -d "$dir" ] || mkdir -p "$dir" || exit 1
e=$(stat "$p" 2>&1 >/dev/null) || case $e in *': No such file or directory') ;; *) refuse "$e" ;; esac
[ -d "$p" ] && refuse 'it is a directory'
if [ -e "$p" ]; then
  [ -f "$p" ] || refuse 'it is not a regular file'
  created=0 have=$(stat -c '%s-%Y-%i' "$p") old=$(stat -c '%a' "$p")
else
  created=1 have= old=$(printf %o "$((0666 & ~$(umask)))")
fi
if [ -n "$want" ] && [ "$want" != "$have" ]; then exit ${CHANGED}; fi
t=$(mktemp "$dir/.beige-XXXXXXXX") || exit 1
trap 'rm -f "$t"' EXIT
cat > "$t" && chmod "\${mode:-$old}" "$t" && { sync "$t" 2>/dev/null || sync; } && mv -f "$t" "$p" || exit 1
trap - EXIT
stat -c "$created %s-%Y-%i" "$p"
`
const STAT = `${CHECK}
there
stat -c '%f %s %Y %i' "$p" || exit 1
if [ -L "$p" ]; then readlink "$p"; fi
`
// One `stat` for many files, unless one of them goes meanwhile. A directory that may not be read shows nothing.
const LIST = `${CHECK}
leads
[ -d "$p" ] || refuse 'Not a directory'
[ -r "$p" ] && cd "$p" || refuse 'Permission denied'
find . -mindepth 1 -maxdepth "$2" -exec sh -c '
  all=$(stat -c "%f %s" "$@" 2>/dev/null) || all=
  for f; do
    if [ -z "$all" ]; then stat -c "%f %s" "$f" 2>/dev/null || continue
    else line=\${all%%"
"*}; all=\${all#"$line"}; all=\${all#?}; printf "%s\\n" "$line"; fi
    printf "%s\\0" "\${f#./}"
    if [ -L "$f" ]; then readlink "$f"; fi
    printf "\\0"
  done' sh {} + 2>/dev/null || :
`
const REMOVE = `${CHECK}
there
if [ -d "$p" ] && [ ! -L "$p" ]; then rmdir "$p"; else rm -f "$p"; fi
`

type Run = (command: Command, signal: AbortSignal) => Promise<ExecResult>

export function filesByCommand(run: Run, endpoint: string): FileCalls {
  async function script(
    text: string,
    path: string,
    args: readonly string[],
    signal: AbortSignal,
    stdin?: Uint8Array,
  ): Promise<Buffer> {
    if (path === '' || path.includes('\0') || !path.isWellFormed()) {
      throw fail('bad_path', { path: JSON.stringify(path) })
    }
    const command = { command: 'sh', args: ['-c', text, 'sh', path, ...args], ...(stdin ? { stdin } : {}) }
    const { exitCode, stdout, stderr } = await run(command, signal)
    if (exitCode === 0) return Buffer.from(stdout)
    if (exitCode === CHANGED) throw fail('file_changed', { path })
    throw scriptFailure(path, Buffer.from(stderr).toString('utf8').trim())
  }

  // `%f %s %Y %i`: raw mode in hex, size, seconds, inode.
  function parseStat(line: string) {
    const match = /^([0-9a-f]+) (\d+) (-?\d+) (\d+)$/.exec(line)
    if (!match) throw fail('endpoint_wrong', { endpoint, reason: `stat answered ${JSON.stringify(line)}` })
    const [, rawMode = '', size = '', seconds = '', inode = ''] = match
    return {
      rawMode: Number.parseInt(rawMode, 16),
      size: Number(size),
      mtimeMs: Number(seconds) * 1000,
      etag: `${size}-${seconds}-${inode}`,
    }
  }

  return {
    async readFile(path, signal, range) {
      const length = range ? Math.max(0, range.end - range.start) : 0
      const output = await script(READ, path, range ? [`${range.start + 1}`, `${length}`] : [], signal)
      const at = output.indexOf(0x0a)
      const { rawMode, size, etag } = parseStat(output.subarray(0, at).toString('latin1'))
      return { bytes: output.subarray(at + 1), etag, mode: rawMode & 0o7777, size }
    },

    async writeFile(path, bytes, signal, options = {}) {
      const { ifMatch = '', mode, parents = false } = options
      const args = [ifMatch, mode === undefined ? '' : mode.toString(8), parents ? '1' : '0']
      const answer = (await script(WRITE, path, args, signal, bytes)).toString('latin1').trim()
      const [created, etag = ''] = answer.split(' ')
      return { etag, created: created === '1' }
    },

    async stat(path, signal) {
      const output = (await script(STAT, path, [], signal)).toString('utf8')
      const at = output.indexOf('\n')
      const { rawMode, size, mtimeMs } = parseStat(output.slice(0, at))
      const kind = kindOf(rawMode)
      const target = kind === 'symlink' ? { target: output.slice(at + 1, -1) } : {}
      return { kind, size, mtime_ms: mtimeMs, mode: rawMode & 0o7777, ...target }
    },

    async list(path, signal, options = {}) {
      const depth = Math.min(options.depth ?? 1, MAX_LIST_DEPTH)
      const limit = Math.min(options.limit ?? MAX_LIST_ENTRIES, MAX_LIST_ENTRIES)
      // One character a byte, until they are sorted: names need not be UTF-8.
      const output = (await script(LIST, path, [`${depth}`], signal)).toString('latin1')
      const records = output.split('\0')
      const entries: FileList['entries'] = []
      for (let at = 0; at + 2 < records.length; at += 2) {
        const record = records[at] ?? ''
        const end = record.indexOf('\n')
        const [rawMode = '', size = ''] = record.slice(0, end).split(' ')
        const kind = kindOf(Number.parseInt(rawMode, 16))
        const target = kind === 'symlink' ? { target: utf8((records[at + 1] ?? '').slice(0, -1)) } : {}
        entries.push({ path: record.slice(end + 1), kind, size: Number(size), ...target })
      }
      entries.sort((a, b) => byParts(a.path, b.path))
      const named = entries.slice(0, limit).map(entry => ({ ...entry, path: utf8(entry.path) }))
      return { entries: named, truncated: entries.length > limit }
    },

    async remove(path, signal) {
      await script(REMOVE, path, [], signal)
    },
  }
}

/** As the API has it: what is in a directory stands behind it. */
function byParts(a: string, b: string): number {
  const [first, second] = [a.replaceAll('/', '\0'), b.replaceAll('/', '\0')]
  return first < second ? -1 : first > second ? 1 : 0
}

const utf8 = (latin1: string) => Buffer.from(latin1, 'latin1').toString('utf8')

function kindOf(rawMode: number): FileKind {
  switch (rawMode & 0o170000) {
    case 0o100000:
      return 'file'
    case 0o040000:
      return 'directory'
    case 0o120000:
      return 'symlink'
    case 0o010000:
      return 'fifo'
    case 0o140000:
      return 'socket'
    default:
      return 'device'
  }
}
