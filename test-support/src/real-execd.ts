/** Starts the built `execd` as a child on a Unix socket, over an empty folder: the real thing, without a sandbox. */
import { spawn } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { arch } from 'node:process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const START_DEADLINE_MS = 10_000
const BINARY = fileURLToPath(new URL(`../../packages/execd/dist/execd-linux-${arch}`, import.meta.url))

export type RealExecd = AsyncDisposable & {
  socketPath: string
  pid: number
  /** An empty folder, removed at the end. */
  root: string
  /** Ends it without a warning, as a lost sandbox does. */
  kill(): void
}

/** Why tests that need it are skipped, or false. */
export function execdMissing(): string | false {
  try {
    accessSync(BINARY, constants.X_OK)
    return false
  } catch {
    return 'execd is not built: packages/execd/build.sh'
  }
}

export async function startExecd(env: Readonly<Record<string, string>> = {}): Promise<RealExecd> {
  const folder = await mkdtemp(join(tmpdir(), 'beige-execd-'))
  const root = await mkdtemp(join(folder, 'root-'))
  const socketPath = join(folder, 'exec.sock')
  const child = spawn(BINARY, [], {
    env: {
      PATH: '/usr/local/bin:/usr/bin:/bin',
      HOME: root,
      EXECD_LISTEN: `unix:${socketPath}`,
      EXECD_ROOT: root,
      EXECD_HOME: root,
      EXECD_LOG: 'info',
      ...env,
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const ended = new Promise<void>(resolve => child.once('exit', () => resolve()))
  const lines: string[] = []
  const listening = new Promise<boolean>(resolve => {
    createInterface({ input: child.stderr }).on('line', line => {
      lines.push(line)
      if (line.includes('listening')) resolve(true)
    })
    child.once('exit', () => resolve(false))
    AbortSignal.timeout(START_DEADLINE_MS).addEventListener('abort', () => resolve(false))
  })
  const dispose = async () => {
    child.kill('SIGTERM')
    await ended
    await rm(folder, { recursive: true, force: true })
  }
  if (!(await listening)) {
    await dispose()
    throw new Error(`execd did not start: ${lines.join('\n')}`)
  }
  return {
    socketPath,
    root,
    pid: child.pid ?? 0,
    kill: () => child.kill('SIGKILL'),
    [Symbol.asyncDispose]: dispose,
  }
}
