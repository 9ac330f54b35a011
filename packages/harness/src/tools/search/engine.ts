/** Which program searches in a sandbox, asked once: `rg`, or `grep` with what it can and with its name for UTF-8. */
import { fail } from '../../errors.ts'
import type { Opened } from '../sandbox-facts.ts'

const MIN_RG_MAJOR = 13 // older ones lack some of the options

export type SearchEngine =
  | { name: 'rg' }
  /** `namesFiles`: it ends a file's name with a zero byte (`-Z`); one that does not is run for each file. */
  | { name: 'grep'; locale: string; namesFiles: boolean }

const PROBE = `
for l in C.UTF-8 C.utf8 en_US.UTF-8 "\${LANG:-C}"; do
  if [ "$(printf '\\303\\251\\n' | LC_ALL=$l grep -E -a -c -e '^.$' 2>/dev/null)" = 1 ]; then
    if [ "$(printf 'a\\n' | LC_ALL=$l grep -a -n -H -Z -A 1 -e a 2>/dev/null | tr '\\000' '\\001' | cut -b 1-200)" != "$(printf '(standard input)\\0011:a')" ]; then l="$l plain"; fi
    printf %s "$l"; exit 0
  fi
done
exit 1
`

export async function askEngine({ exec }: Opened, signal: AbortSignal): Promise<SearchEngine> {
  const rg = await exec.run({ command: 'rg', args: ['--no-config', '--version'] }, signal)
  const major = /^ripgrep (\d+)\./.exec(Buffer.from(rg.stdout).toString('latin1'))?.[1]
  if (rg.exitCode === 0 && Number(major) >= MIN_RG_MAJOR) return { name: 'rg' }
  const grep = await exec.run({ command: 'sh', args: ['-c', PROBE] }, signal)
  const [locale, plain] = Buffer.from(grep.stdout).toString('latin1').split(' ')
  if (grep.exitCode !== 0 || !locale) throw fail('no_search_engine', {})
  return { name: 'grep', locale, namesFiles: plain === undefined }
}
