/**
 * A PostgreSQL of its own for one test file: a new cluster in a temporary folder, on a Unix socket and a free port of
 * 127.0.0.1, as an unprivileged user also when the test is root (the server refuses root).
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { chown, mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'

const START_DEADLINE_MS = 60_000
const DEBIAN_VERSIONS = '/usr/lib/postgresql'
const UNPRIVILEGED = ['postgres', 'nobody']
const PROGRAMS = ['initdb', 'postgres', 'createdb']
const USER = 'beige'

export type PostgresServer = AsyncDisposable & {
  /** On the Unix socket, with the user in it. */
  url: string
  port: number
  /** A URL of another, new database of the same server. */
  newDatabase(): Promise<string>
  /** The same over TCP, through a port such as a proxy's. */
  urlThrough(port: number, url?: string): string
  /** Ends it: `fast` cuts connections and writes all down, `crash` leaves the log to be replayed. */
  stop(how: 'fast' | 'crash'): Promise<void>
  /** After `stop`. `settings` as on the command line, `fsync=off`. */
  start(settings?: readonly string[]): Promise<void>
  /** SIGSTOP and SIGCONT to the server and all its backends. */
  pause(): void
  resume(): void
}

/** Why tests that need it are skipped, or false. */
export function postgresMissing(): string | false {
  return binaries() === null ? 'absent: postgres' : false
}

export async function startPostgres(settings: readonly string[] = []): Promise<PostgresServer> {
  const bin = binaries()
  if (bin === null) throw new Error('PostgreSQL is not installed: apt-get install postgresql')
  const ids = unprivileged()
  const folder = await mkdtemp(join(tmpdir(), 'beige-pg-'))
  if (ids.uid !== undefined && ids.gid !== undefined) await chown(folder, ids.uid, ids.gid)
  const data = join(folder, 'data')
  const port = await freePort()
  const options = { cwd: folder, env: { PATH: '/usr/bin:/bin', LC_ALL: 'C.UTF-8', TZ: 'UTC' }, ...ids }
  const flags = ['-D', data, '-U', USER, '-A', 'trust', '-E', 'UTF8', '--locale', 'C', '--no-sync']
  await promisify(execFile)(join(bin, 'initdb'), flags, options)
  let child: ChildProcess | null = null
  let databases = 0

  const killAtExit = () => child?.kill('SIGQUIT')

  async function start(more: readonly string[] = []): Promise<void> {
    const all = [`listen_addresses=127.0.0.1`, `port=${port}`, `unix_socket_directories=${folder}`, ...more]
    const args = ['-D', data, ...all.flatMap(setting => ['-c', setting])]
    child = spawn(join(bin ?? '', 'postgres'), args, { ...options, stdio: ['ignore', 'ignore', 'pipe'] })
    await ready(child)
  }

  async function stop(how: 'fast' | 'crash'): Promise<void> {
    const ending = child
    child = null
    if (!ending || ending.exitCode !== null) return
    const ended = new Promise(resolve => ending.once('exit', resolve))
    ending.kill('SIGCONT')
    ending.kill(how === 'fast' ? 'SIGINT' : 'SIGQUIT')
    await ended
  }

  function signal(name: NodeJS.Signals): void {
    const pid = child?.pid
    if (pid === undefined) return
    for (const one of [pid, ...childrenOf(pid)]) process.kill(one, name)
  }

  const url = `postgres://${USER}@/postgres?host=${encodeURIComponent(folder)}&port=${port}`
  process.once('exit', killAtExit)
  try {
    await start(settings)
  } catch (error) {
    await rm(folder, { recursive: true, force: true })
    throw error
  }
  return {
    url,
    port,
    async newDatabase() {
      const name = `test_${++databases}`
      await promisify(execFile)(join(bin, 'createdb'), ['-h', folder, '-p', String(port), '-U', USER, name], {
        ...options,
      })
      return url.replace('/postgres?', `/${name}?`)
    },
    urlThrough: (through, from = url) =>
      `postgres://${USER}@127.0.0.1:${through}/${/\/(\w+)\?/.exec(from)?.[1] ?? 'postgres'}`,
    stop,
    start,
    pause: () => signal('SIGSTOP'),
    resume: () => signal('SIGCONT'),
    async [Symbol.asyncDispose]() {
      process.off('exit', killAtExit)
      await stop('crash')
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function ready(child: ChildProcess): Promise<void> {
  const lines: string[] = []
  const started = new Promise<boolean>(resolve => {
    if (!child.stderr) return resolve(false)
    createInterface({ input: child.stderr }).on('line', line => {
      lines.push(line)
      if (line.includes('ready to accept connections')) resolve(true)
      if (lines.length > 50) lines.shift()
    })
    child.once('exit', () => resolve(false))
    AbortSignal.timeout(START_DEADLINE_MS).addEventListener('abort', () => resolve(false))
  })
  if (await started) return
  child.kill('SIGQUIT')
  throw new Error(`PostgreSQL did not start: ${lines.join('\n')}`)
}

/** The folder with all of its programs: the newest of Debian's, or one on the path. */
function binaries(): string | null {
  const debian = entriesOf(DEBIAN_VERSIONS)
    .sort((a, b) => Number(b) - Number(a))
    .map(version => join(DEBIAN_VERSIONS, version, 'bin'))
  const path = (process.env.PATH ?? '').split(':').filter(folder => folder !== '')
  return [...debian, ...path].find(folder => PROGRAMS.every(name => isThere(join(folder, name)))) ?? null
}

function unprivileged(): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {}
  const users = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map(line => line.split(':'))
  for (const name of UNPRIVILEGED) {
    const [, , uid, gid] = users.find(([one]) => one === name) ?? []
    if (uid !== undefined && gid !== undefined) return { uid: Number(uid), gid: Number(gid) }
  }
  return {}
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0))
    })
  })
}

function childrenOf(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
  return children
    .split(' ')
    .filter(text => text.trim() !== '')
    .map(Number)
}

function isThere(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined
}

function entriesOf(folder: string): string[] {
  return isThere(folder) ? readdirSync(folder) : []
}
