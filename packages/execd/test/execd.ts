/** Starts the built `execd` for a test and talks to it: the real program, over its real socket. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { accessSync, constants, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { Agent, request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { arch } from 'node:process'
import { createInterface } from 'node:readline'
import type { TestContext } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'

export const BINARY = join(import.meta.dirname, `../dist/execd-linux-${arch}`)
/** Why tests are skipped, or false. */
export const skip = isBuilt() ? false : 'absent: execd (packages/execd/build.sh)'
export const needsRoot = skip || (process.getuid?.() === 0 ? false : 'absent: root')
/** As PID 1 of a pid namespace; killed with whoever made it. */
export const IN_NAMESPACE: readonly string[] = [
  'unshare',
  '--pid',
  '--fork',
  '--kill-child',
  '--mount-proc',
  BINARY,
]
/** Root in a container may not make namespaces. */
export const needsNamespaces =
  needsRoot || (makesNamespaces() ? false : 'absent: pid namespaces (unshare refuses)')

const START_DEADLINE_MS = 10_000
const CONDITION_DEADLINE_MS = 20_000

export type Reply = { status: number; headers: IncomingHttpHeaders; body: Buffer; text: string }
export type Answer = {
  status: number
  exit_code: number | null
  signal: string | null
  timed_out: boolean
  held_pipes?: boolean
  stdout: Buffer
  stderr: Buffer
}
export type Frame = {
  type: string
  pid?: number
  job?: string
  offset?: number
  data?: string
  exit_code?: number | null
  signal?: string | null
  timed_out?: boolean
}
export type RunRequest = { command: string } & Readonly<Record<string, unknown>>
export type FrameStream = { frames: AsyncIterableIterator<Frame>; message: IncomingMessage; close(): void }

export type Execd = {
  pid: number
  folder: string
  root: string
  socketPath: string
  ended: Promise<number | null>
  send(method: string, path: string, body?: string | Buffer, headers?: Record<string, string>): Promise<Reply>
  run(request: RunRequest): Promise<Answer>
  stream(request: RunRequest): Promise<FrameStream>
  /** Frames of any other call. */
  follow(method: string, path: string): Promise<FrameStream>
  /** Pids of its own children: supervisors, and what has landed at it. */
  children(): number[]
  kill(signal: NodeJS.Signals): void
}

/** Ends with the test. `command` is what starts it, for those that need it in a namespace. */
export async function startExecd(
  t: TestContext,
  env: Readonly<Record<string, string>> = {},
  command: readonly string[] = [BINARY],
): Promise<Execd> {
  const folder = mkdtempSync(join(tmpdir(), 'execd-test-'))
  const root = mkdtempSync(join(folder, 'root-'))
  const socketPath = join(folder, 'exec.sock')
  const [program = BINARY, ...args] = command
  const child = spawn(program, args, {
    env: {
      PATH: process.env.PATH ?? '/usr/bin:/bin',
      EXECD_LISTEN: `unix:${socketPath}`,
      EXECD_ROOT: root,
      EXECD_LOG: 'info',
      ...env,
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let pid = 0
  const ended = new Promise<number | null>(resolve => child.once('exit', code => resolve(code)))
  const kill = (signal: NodeJS.Signals) => {
    if (child.exitCode === null && child.signalCode === null && pid > 0) process.kill(pid, signal)
  }
  const agent = new Agent({ keepAlive: true })
  t.after(async () => {
    agent.destroy()
    kill('SIGTERM')
    const isEnded = await Promise.race([ended.then(() => true), wait(10_000, false, { ref: false })])
    if (!isEnded) child.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  })
  await listening(child)
  // `unshare` passes no signal on: what it started is meant.
  pid = (command.length > 1 ? childrenOf(child.pid ?? 0)[0] : child.pid) ?? 0
  const open = (method: string, path: string, body?: string | Buffer, headers: Record<string, string> = {}) =>
    new Promise<IncomingMessage>((resolve, reject) => {
      const sent = httpRequest({ socketPath, method, path, headers, agent }, resolve)
      sent.once('error', reject)
      sent.end(body)
    })
  const send: Execd['send'] = async (method, path, body, headers) =>
    readReply(await open(method, path, body, headers))
  return {
    pid,
    folder,
    root,
    socketPath,
    ended,
    send,
    run: async request => readAnswer(await send('POST', '/', JSON.stringify(request))),
    stream: async request => streamOf(await open('POST', '/', JSON.stringify({ ...request, stream: true }))),
    follow: async (method, path) => streamOf(await open(method, path)),
    children: () => childrenOf(pid),
    kill,
  }
}

/** Pids of processes whose argv holds the marker. Zombies have no argv and do not count. */
export function processesWith(marker: string): number[] {
  return pids().filter(pid => readProc(pid, 'cmdline').includes(marker))
}

export function childrenOf(parent: number): number[] {
  return pids().filter(pid => {
    const fields = readProc(pid, 'stat').split(') ').at(-1)?.split(' ')
    return fields?.[1] === String(parent)
  })
}

export async function until(what: string, isTrue: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = AbortSignal.timeout(CONDITION_DEADLINE_MS)
  while (!(await isTrue())) {
    if (deadline.aborted) throw new Error(`still not so: ${what}`)
    await wait(10)
  }
}

export function newMarker(): string {
  return `marker-${crypto.randomUUID()}`
}

export async function readReply(message: IncomingMessage): Promise<Reply> {
  const parts: Buffer[] = []
  for await (const part of message) parts.push(part)
  const body = Buffer.concat(parts)
  return { status: message.statusCode ?? 0, headers: message.headers, body, text: body.toString() }
}

export function readAnswer({ status, text }: Reply): Answer {
  const answer = JSON.parse(text)
  const bytes = (value: unknown) => Buffer.from(typeof value === 'string' ? value : '', 'base64')
  return { ...answer, status, stdout: bytes(answer.stdout), stderr: bytes(answer.stderr) }
}

/** The code of an error answer. */
export function codeOf({ text }: Reply): string {
  return JSON.parse(text).error.code
}

function streamOf(message: IncomingMessage): FrameStream {
  message.on('error', () => {}) // a reader sees it too, where there is one
  return { frames: framesOf(message), message, close: () => message.destroy() }
}

/** Leaving its loop does not close the connection: closing is what some tests are about. */
async function* framesOf(message: IncomingMessage): AsyncGenerator<Frame> {
  let rest = ''
  for await (const chunk of message.iterator({ destroyOnReturn: false })) {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) yield JSON.parse(line)
  }
}

async function listening(child: ChildProcess): Promise<void> {
  const lines: string[] = []
  const isListening = await new Promise<boolean>(resolve => {
    if (child.stderr) {
      createInterface({ input: child.stderr }).on('line', line => {
        lines.push(line)
        if (line.includes('listening')) resolve(true)
      })
    }
    child.once('exit', () => resolve(false))
    AbortSignal.timeout(START_DEADLINE_MS).addEventListener('abort', () => resolve(false))
  })
  if (!isListening) throw new Error(`execd did not start: ${lines.join('\n')}`)
}

function pids(): number[] {
  return readdirSync('/proc').map(Number).filter(Number.isInteger)
}

function readProc(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'latin1')
  } catch {
    return ''
  }
}

function isBuilt(): boolean {
  if (!existsSync(BINARY)) return false
  accessSync(BINARY, constants.X_OK)
  return true
}

function makesNamespaces(): boolean {
  return spawnSync('unshare', ['--pid', '--fork', '--mount-proc', 'true']).status === 0
}
