/**
 * Which programs an endpoint has. Where it has none, as in an image that holds execd alone, the caller may carry one static
 * multi-call program (busybox): it is written through the files API and run by its absolute path.
 */
import { execAnswer } from '@beige/protocol'
import { compile } from '@earendil-works/pi-schema'
import { expect } from './check.ts'
import type { RawHttp, RawReply } from './raw-http.ts'

const PROGRAMS = 'sh cat env grep head ln mkdir mkfifo nohup rm setsid sleep tr true'.split(' ')
const FOLDERS = ['/workspace', '/tmp', '/var/tmp', '/'] as const
const isAnswer = compile(execAnswer).check

/** Name to absolute path. Empty: not even a shell; null: what answers is so wrong that nothing can be said. */
export type Programs = ReadonlyMap<string, string> | null
export type Workplace = {
  programs: Programs
  /** Variables that each command needs to find them. */
  env: Readonly<Record<string, string>>
  /** A folder of the kit's own at the endpoint; absolute. */
  folder: string
}

export type WorkplaceWish = {
  http: RawHttp
  hasFiles: boolean
  /** The name of the kit's folder. */
  name: string
  /** Where to make it; absent: where a command starts, else the first usual place that is there. */
  parent?: string
  carried?: Uint8Array
  signal: AbortSignal
}

/** Makes the kit's folder and says what can be run there. */
export async function makeWorkplace(wish: WorkplaceWish): Promise<Workplace> {
  const found = await ask(wish, 'sh', ['-c', LOOK, 'sh', ...PROGRAMS]).catch(() => null)
  if (found === null) return { programs: null, env: {}, folder: `${wish.parent ?? '/tmp'}/${wish.name}` }
  if (found.exitCode !== 0 && wish.carried && wish.hasFiles) return await carry(wish, wish.carried)
  const [start = '', ...lines] = found.stdout.split('\n')
  const parent = wish.parent ?? (start.startsWith('/') ? start : await firstFolder(wish))
  const folder = join(parent, wish.name)
  if (found.exitCode === 0) await ask(wish, 'sh', ['-c', 'mkdir -p "$1"', 'sh', folder])
  return { programs: listed(lines), env: {}, folder }
}

/** Takes the folder away again. */
export async function removeWorkplace({ programs, env, folder }: Workplace, wish: WorkplaceWish) {
  await ask(wish, programs?.get('sh') ?? 'sh', ['-c', 'rm -rf "$1"', 'sh', folder], env)
}

// Fractions of a second are not in POSIX; without them "sleep" is not what the checks need.
const LOOK = `pwd; for name; do
  if [ "$name" = sleep ]; then sleep 0.01 2>/dev/null || continue; fi
  path=$(command -v "$name") && echo "$name $path"
done; exit 0`

async function carry(wish: WorkplaceWish, program: Uint8Array): Promise<Workplace> {
  const folder = join(wish.parent ?? (await firstFolder(wish)), wish.name)
  const path = `${folder}/bin/busybox`
  const written = await wish.http.send(
    {
      method: 'PUT',
      path: `/files?path=${encodeURIComponent(path)}&parents=1`,
      headers: { 'x-file-mode': '0755' },
      body: program,
    },
    wish.signal,
  )
  expect(written.status < 300, `the carried program could not be written: status ${written.status}`)
  const linked = await ask(wish, path, ['sh', '-c', LINK, path, ...PROGRAMS])
  expect(linked?.exitCode === 0, 'the carried program does not run at the endpoint')
  return { programs: listed(linked.stdout.split('\n')), env: { PATH: `${folder}/bin` }, folder }
}

// `$0` is the program's path: a link beside it for each name that it can be.
const LINK = `folder=\${0%/*}; for name; do
  "$0" --list | "$0" grep -qx "$name" && "$0" ln -s busybox "$folder/$name" && echo "$name $folder/$name"
done; exit 0`

async function firstFolder({ http, hasFiles, signal }: WorkplaceWish): Promise<string> {
  if (!hasFiles) return '/tmp'
  for (const folder of FOLDERS) {
    const reply = await http.send({ method: 'GET', path: `/stat?path=${encodeURIComponent(folder)}` }, signal)
    if (reply.status === 200) return folder
  }
  return '/tmp'
}

type Said = { exitCode: number | null; stdout: string }

async function ask(
  { http, signal }: WorkplaceWish,
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Said | null> {
  const body = JSON.stringify({ command, args, env })
  const headers = { 'content-type': 'application/json' }
  const answer = answerOf(await http.send({ method: 'POST', path: '', headers, body }, signal))
  return answer && { exitCode: answer.exit_code, stdout: Buffer.from(answer.stdout, 'base64').toString() }
}

export function answerOf(reply: RawReply) {
  if (reply.status !== 200) return null
  try {
    const answer: unknown = JSON.parse(reply.body.toString())
    return isAnswer(answer) ? answer : null
  } catch {
    return null
  }
}

function listed(lines: readonly string[]): ReadonlyMap<string, string> {
  const pairs = lines.map(line => line.split(' '))
  return new Map(pairs.flatMap(([name = '', path = '']) => (name && path ? [[name, path] as const] : [])))
}

function join(parent: string, name: string): string {
  return `${parent.replace(/\/$/, '')}/${name}`
}
