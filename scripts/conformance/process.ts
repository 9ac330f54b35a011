/** execd as a plain process of this machine, by TCP and by Unix socket. */
import { spawn } from 'node:child_process'
import { chmod, chown, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { findExecd } from '@beige/sandbox'
import { JOB_OUTPUT_BYTES } from './limits.ts'
import type { Opened } from './targets.ts'

const USER = 10_001
const TOKEN = 'a-token-of-the-conformance-run'
const START_MS = 10_000

/** As root its commands are somebody else's, from whom the token must be kept. */
export async function openTcp(): Promise<Opened> {
  const port = await freePort()
  const isRoot = process.geteuid?.() === 0
  const started = await start({
    EXECD_LISTEN: `127.0.0.1:${port}`,
    ...(isRoot ? { EXECD_RUN_AS: String(USER) } : {}),
  })
  const headers = { authorization: `Bearer ${TOKEN}` }
  return {
    options: {
      endpoint: { kind: 'url', url: `http://127.0.0.1:${port}`, headers },
      ...(isRoot ? { tokenFile: join(started.folder, 'token') } : {}),
    },
    [Symbol.asyncDispose]: started.end,
  }
}

export async function openUnix(): Promise<Opened> {
  const socketPath = join(tmpdir(), `beige-conformance-${process.pid}.sock`)
  const started = await start({ EXECD_LISTEN: `unix:${socketPath}`, EXECD_BEARER_FILE: '' })
  return {
    options: { endpoint: { kind: 'unix', socketPath, basePath: '' } },
    async [Symbol.asyncDispose]() {
      await started.end()
      await rm(socketPath, { force: true })
    },
  }
}

async function start(env: Readonly<Record<string, string>>) {
  const folder = await mkdtemp(join(tmpdir(), 'beige-conformance-'))
  await chmod(folder, 0o711)
  const token = join(folder, 'token')
  await writeFile(token, TOKEN, { mode: 0o600 })
  const root = await mkdtemp(join(folder, 'root-'))
  if (env.EXECD_RUN_AS) await chown(root, USER, USER)
  const child = spawn(findExecd(), [], {
    env: {
      PATH: '/usr/local/bin:/usr/bin:/bin',
      ...{ HOME: root, EXECD_HOME: root, EXECD_ROOT: root, EXECD_BEARER_FILE: token, EXECD_LOG: 'info' },
      EXECD_JOB_OUTPUT_BYTES: String(JOB_OUTPUT_BYTES),
      ...env,
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const ended = new Promise<void>(resolve => child.once('exit', () => resolve()))
  const end = async () => {
    child.kill('SIGTERM')
    await ended
    await rm(folder, { recursive: true, force: true })
  }
  const lines: string[] = []
  const isListening = await new Promise<boolean>(resolve => {
    createInterface({ input: child.stderr }).on('line', line => {
      lines.push(line)
      if (line.includes('listening')) resolve(true)
    })
    child.once('exit', () => resolve(false))
    AbortSignal.timeout(START_MS).addEventListener('abort', () => resolve(false))
  })
  if (isListening) return { folder, end }
  await end()
  throw new Error(`execd did not start: ${lines.join('\n')}`)
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise<void>(resolve => server.once('listening', () => resolve()))
  const address = server.address()
  await new Promise<void>(resolve => server.close(() => resolve()))
  return typeof address === 'object' ? (address?.port ?? 0) : 0
}
