/** Set-up of the tests of the real command: a home, a workspace, a scripted model and `agent` as a child process. */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { geteuid } from 'node:process'
import { fileURLToPath } from 'node:url'
import type { AgentEvent } from '@beige/protocol'
import { DEFAULT_LIMITS, MADE_BY_ROOT, makeWorkspace, openDriver } from '@beige/sandbox'
import {
  compileCache,
  type ModelServer,
  type Script,
  type SeenRequest,
  startModelServer,
  turnFor,
  type WireName,
  wireUrl,
} from '@beige/test-support'

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url))
const BINARY = process.env.BEIGE_TEST_AGENT
// The command from its source, or the one file that is named.
const ARGV: readonly string[] = BINARY ? [BINARY] : [process.execPath, '--conditions=beige-source', MAIN]
const CLEAN_UP_MS = 60_000
const DEADLINE_MS = 60_000 // generous: it only says that a test hangs

/** Must reach no sandbox: it stands in the environment of `agent`. */
export const CANARY = 'canary-7f3a91'
export const KEY = `sk-${CANARY}`

export type Ended = { code: number | null; signal: NodeJS.Signals | null; stdout: string; stderr: string }

export type AgentChild = {
  process: ChildProcessWithoutNullStreams
  stdout(): string
  stderr(): string
  /** Lines of stdout so far, each as JSON. */
  json(): unknown[]
  /** Resolves when stdout has so many whole lines, or the process has ended. */
  lines(count: number): Promise<void>
  /** Writes one command to `agent serve`. */
  send(command: unknown): void
  /** The first frame that came, or comes, with these fields. */
  frame(fields: Readonly<Record<string, unknown>>): Promise<Record<string, unknown>>
  ended: Promise<Ended>
}

export type AgentBench = AsyncDisposable & {
  server: ModelServer
  /** What the model was asked, newest last. */
  seen: readonly SeenRequest[]
  home: string
  workspace: string
  /** Environment of the command. */
  env: Readonly<Record<string, string>>
  /** The words that start it, without arguments. */
  argv: readonly string[]
  /** A file of the workspace, owned as the workspace is. */
  write(path: string, text: string): void
  start(args: readonly string[], env?: Readonly<Record<string, string>>): AgentChild
  /** From start to end. */
  agent(args: readonly string[], env?: Readonly<Record<string, string>>): Promise<Ended>
  /** The same, in another directory. */
  agentIn(cwd: string, args: readonly string[]): Promise<Ended>
  /** Names of the folders of sandboxes that are left. */
  sandboxesLeft(): string[]
  /** Ends what a killed agent left, as if the machine had gone down. */
  endSandboxes(): Promise<void>
}

export async function agentBench(script: Script, wire: WireName = 'anthropic'): Promise<AgentBench> {
  const seen: SeenRequest[] = []
  const server = await startModelServer({
    script: request => {
      seen.push(request)
      return turnFor(script, request)
    },
  })
  const folder = mkdtempSync(join(tmpdir(), 'beige-agent-'))
  chmodSync(folder, 0o711) // the agent's user goes through it
  const home = join(folder, 'home')
  const workspace = join(folder, 'workspace')
  makeWorkspace(workspace)
  const children: AgentChild[] = []
  const base = {
    PATH: process.env.PATH ?? '',
    HOME: folder,
    BEIGE_HOME: home,
    BEIGE_CANARY: CANARY,
    ...compileCache(),
    ...routeTo(server, wire),
  }
  const start = (args: readonly string[], env: Readonly<Record<string, string>> = {}, cwd = workspace) => {
    const child = startAgent(args, cwd, { ...base, ...env })
    children.push(child)
    return child
  }
  return {
    server,
    seen,
    home,
    workspace,
    env: base,
    argv: ARGV,
    write: (path, text) => {
      const file = join(workspace, path)
      mkdirSync(dirname(file), { recursive: true })
      writeFileSync(file, text)
      if (geteuid?.() === 0)
        for (const one of [dirname(file), file]) chownSync(one, MADE_BY_ROOT.uid, MADE_BY_ROOT.gid)
    },
    start,
    agent: (args, env) => toEnd(start(args, env)),
    agentIn: (cwd, args) => toEnd(start(args, {}, cwd)),
    sandboxesLeft: () => (existsSync(join(home, 'sandboxes')) ? readdirSync(join(home, 'sandboxes')) : []),
    endSandboxes: () => endSandboxes(home, workspace),
    [Symbol.asyncDispose]: async () => {
      for (const child of children) child.process.kill('SIGKILL')
      await Promise.all(children.map(child => child.ended))
      await server.close()
      await endSandboxes(home, workspace)
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function toEnd(child: AgentChild): Promise<Ended> {
  child.process.stdin.end()
  return await child.ended
}

/** The variables that lead to the scripted server, as a user would set them for a server of that wire. */
function routeTo(server: ModelServer, wire: WireName): Record<string, string> {
  switch (wire) {
    case 'anthropic':
      return { AI_BASE_URL: server.url, AI_PROVIDER: 'anthropic', AI_API_KEY: KEY }
    case 'openai-chat':
      return { AI_BASE_URL: `${server.url}/v1`, AI_API_KEY: KEY, AI_AGENT_MODEL: 'scripted' }
    case 'openai-responses':
      return { OPENAI_BASE_URL: `${server.url}/v1`, OPENAI_API_KEY: KEY, AI_AGENT_MODEL: 'gpt-5' }
    case 'gemini':
      return { AI_BASE_URL: wireUrl(server, wire), AI_PROVIDER: 'google', AI_API_KEY: KEY }
    case 'bedrock':
      return { AI_BASE_URL: server.url, AI_PROVIDER: 'bedrock', AI_API_KEY: KEY }
    default:
      return wire satisfies never
  }
}

function startAgent(args: readonly string[], cwd: string, env: Record<string, string>): AgentChild {
  const [program = '', ...before] = ARGV
  const child = spawn(program, [...before, ...args], { cwd, env })
  const out: Buffer[] = []
  const err: Buffer[] = []
  const changed = new EventTarget()
  const stdout = () => Buffer.concat(out).toString('utf8')
  const stderr = () => Buffer.concat(err).toString('utf8')
  child.stdout.on('data', (chunk: Buffer) => {
    out.push(chunk)
    changed.dispatchEvent(new Event('more'))
  })
  child.stderr.on('data', (chunk: Buffer) => err.push(chunk))
  child.stdin.on('error', () => {}) // it may have ended before it read all
  let hasEnded = false
  const ended = new Promise<Ended>(resolve => {
    child.once('close', (code, signal) => {
      hasEnded = true
      changed.dispatchEvent(new Event('more'))
      resolve({ code, signal, stdout: stdout(), stderr: stderr() })
    })
  })
  const whole = () => stdout().split('\n').slice(0, -1)
  const json = () => whole().map((line): unknown => JSON.parse(line))

  /** Resolves with what `find` finds, now or later. */
  function found<T>(find: () => T | undefined, what: string): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    const late = setTimeout(
      () => reject(new Error(`${what} did not come\n${stdout()}\n${stderr()}`)),
      DEADLINE_MS,
    )
    const look = () => {
      const one = find()
      if (one !== undefined) resolve(one)
      else if (hasEnded) reject(new Error(`${what} did not come before the end\n${stdout()}\n${stderr()}`))
    }
    changed.addEventListener('more', look)
    look()
    return promise.finally(() => {
      clearTimeout(late)
      changed.removeEventListener('more', look)
    })
  }

  return {
    process: child,
    stdout,
    stderr,
    json,
    lines: count =>
      found(() => hasEnded || whole().length >= count || undefined, `line ${count}`).then(() => {}),
    send: command => void child.stdin.write(`${JSON.stringify(command)}\n`),
    frame: fields =>
      found(
        () =>
          json()
            .filter(isRecord)
            .find(one => hasFields(one, fields)),
        JSON.stringify(fields),
      ),
    ended,
  }
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Whether a record has these fields; a field that is a record itself must have those of the asked one. */
function hasFields(record: Record<string, unknown>, fields: Readonly<Record<string, unknown>>): boolean {
  return Object.entries(fields).every(([name, value]) => {
    const own = record[name]
    return isRecord(value) ? isRecord(own) && hasFields(own, value) : own === value
  })
}

/** Lines of `run --json` of one kind. */
export function eventsOf<Kind extends AgentEvent['kind']>(
  stdout: string,
  kind: Kind,
): Record<string, unknown>[] {
  const lines = stdout.split('\n').filter(line => line !== '')
  return lines
    .map((line): unknown => JSON.parse(line))
    .filter(isRecord)
    .filter(one => one.kind === kind)
}

/** Ends what a killed agent left, as its successor would. */
async function endSandboxes(home: string, workspaceDir: string): Promise<void> {
  const root = join(home, 'sandboxes')
  if (!existsSync(root)) return
  for (const id of readdirSync(root))
    for (const kind of ['docker', 'bubblewrap', 'host'] as const) {
      const runDir = join(root, id, kind)
      if (!existsSync(runDir)) continue
      const spec = {
        id,
        labels: {},
        workspaceDir,
        runDir,
        mounts: [],
        env: {},
        network: 'none',
        image: 'host-usr',
      } as const
      const driver = openDriver({ kind })
      const sandbox = await driver.open({ ...spec, limits: DEFAULT_LIMITS }, AbortSignal.timeout(CLEAN_UP_MS))
      await sandbox.close()
    }
}
