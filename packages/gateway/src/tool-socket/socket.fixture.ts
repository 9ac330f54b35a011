/** A tool socket with real parts for tests: pipeline, policy, audit on disk; and clients of both versions of the wire. */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createLocks, createPipeline, type Hands, type Tool } from '@beige/harness'
import {
  type BinaryFrame,
  createFrameDecoder,
  decodeJson,
  encodeFrame,
  encodeJson,
  encodeU32,
  maxToolFrameBytes,
  systemClock,
  systemRandom,
  TOOL_FRAME,
  TOOL_PREAMBLE,
} from '@beige/protocol'
import { arr, obj, opt, str } from '@earendil-works/pi-schema'
import { createCallBook } from '../agents/call-book.ts'
import { openAuditLog } from '../audit/audit-log.ts'
import { createRedactor } from '../audit/redactor.ts'
import { createAgentPolicy } from '../policy/agent-policy.ts'
import { createCallTokens } from './call-tokens.ts'
import { runLauncherCall } from './launcher-calls.ts'
import { openToolSocket } from './listener.ts'

const noHands: Hands = {
  id: 'none',
  open: () => Promise.reject(new DOMException('no sandbox in this test', 'NotSupportedError')),
}

export function tool(name: string, run: Tool['run']): Tool {
  const inputSchema = obj({ args: opt(arr(str())), args_b64: opt(arr(str())), cwd: opt(str()) })
  return { name, description: name, inputSchema, idempotent: false, mode: 'shared', run }
}

export const done = (exitCode: number) =>
  ({ content: [], isError: exitCode !== 0, outcome: 'done', details: { exit_code: exitCode } }) as const

export const git = tool('git', async (_input, { streams }) => {
  await streams?.stdout(Buffer.from('1f0c2aa first\n'))
  return done(0)
})
/** Its input on stdout, its stdin on stderr. */
export const echo = tool('echo', async (input, { streams }) => {
  await streams?.stdout(Buffer.from(JSON.stringify(input)))
  for await (const bytes of streams?.stdin ?? []) await streams?.stderr(bytes)
  return done(3)
})
/** Until it is cancelled. */
export const wait = tool('wait', async (_input, { streams, signal }) => {
  await streams?.stdout(Buffer.from('begun'))
  await new Promise(resolve => signal.addEventListener('abort', resolve, { once: true }))
  throw signal.reason
})

export async function openTestSocket(
  tools: readonly Tool[],
  options: { allowed?: readonly string[]; idleMs?: number; helloMs?: number } = {},
) {
  const folder = mkdtempSync(join(tmpdir(), 'beige-socket-'))
  const log = await openAuditLog({
    path: join(folder, 'audit.jsonl'),
    maxSizeBytes: 10_000_000,
    clock: systemClock,
  })
  const tokens = createCallTokens(randomBytes(32))
  const agents = ['scout', 'other']
  const sockets = await Promise.all(
    agents.map(async agent => {
      const book = createCallBook({ agent, tokens, log, redact: createRedactor([]), args: 'redacted' })
      const pipeline = createPipeline({
        tools,
        policy: createAgentPolicy({ name: agent, tools: options.allowed ?? tools.map(one => one.name) }),
        audit: book.audit,
        clock: systemClock,
        locks: createLocks(),
      })
      const parts = {
        agent,
        pipeline,
        hands: noHands,
        clock: systemClock,
        random: systemRandom,
        workdir: '/workspace',
        calls: book.launchers,
      }
      const path = join(folder, 'sockets', agent, 'gateway.sock')
      const socket = await openToolSocket({
        agent,
        path,
        user: null,
        log: text => process.emitWarning(text),
        identify: token => {
          const found = tokens.find(agent, token)
          return typeof found === 'string' ? null : found
        },
        run: call => runLauncherCall(parts, call),
        ...(options.idleMs === undefined ? {} : { idleMs: options.idleMs }),
        ...(options.helloMs === undefined ? {} : { helloMs: options.helloMs }),
      })
      return { agent, path, socket, book }
    }),
  )
  const [scout, other] = sockets
  if (!scout || !other) throw new DOMException('two agents', 'InvalidStateError')
  return {
    folder,
    scout,
    other,
    tokens,
    auditPath: join(folder, 'audit.jsonl'),
    records: (): Record<string, unknown>[] =>
      readFileSync(join(folder, 'audit.jsonl'), 'utf8')
        .split('\n')
        .slice(0, -1)
        .map(line => JSON.parse(line)),
    async close() {
      await Promise.all(sockets.map(one => one.socket.close()))
      await log.close()
    },
  }
}

export type V2Client = {
  socket: Socket
  send(type: number, id: number, payload?: Uint8Array | object): void
  /** The next frame; rejects when the connection ends first. */
  next(): Promise<BinaryFrame & { json: unknown }>
  /** Frames up to the exit of a call, its output windowed as a reader would. */
  untilExit(
    id: number,
  ): Promise<{ stdout: Buffer; stderr: Buffer; exit: Record<string, unknown>; started: boolean }>
  closed: Promise<void>
}

export async function connectV2(path: string, hello: object = {}): Promise<V2Client> {
  const client = await connectRaw(path)
  client.socket.write(TOOL_PREAMBLE)
  client.send(TOOL_FRAME.hello, 0, hello)
  return client
}

export function connectRaw(path: string): Promise<V2Client> {
  return new Promise((resolve, reject) => {
    const socket = connect(path)
    const decoder = createFrameDecoder(maxToolFrameBytes)
    const frames: BinaryFrame[] = []
    let wake: (() => void) | null = null
    let isClosed = false
    const closed = new Promise<void>(done => socket.once('close', () => done()))
    const rouse = () => {
      wake?.()
      wake = null
    }
    socket.on('data', chunk => {
      frames.push(...decoder.push(chunk))
      rouse()
    })
    socket.on('close', () => {
      isClosed = true
      rouse()
    })
    socket.once('error', reject)
    const client: V2Client = {
      socket,
      closed,
      send: (type, id, payload) =>
        void socket.write(
          encodeFrame(type, id, payload instanceof Uint8Array ? payload : encodeJson(payload ?? {})),
        ),
      async next() {
        for (;;) {
          const frame = frames.shift()
          if (frame) return { ...frame, json: decodeJson(frame.payload) }
          if (isClosed) throw new DOMException('the connection ended', 'NetworkError')
          await new Promise<void>(resolve => {
            wake = resolve
          })
        }
      },
      async untilExit(id) {
        const out: Uint8Array[] = []
        const err: Uint8Array[] = []
        let started = false
        for (;;) {
          const frame = await client.next()
          if (frame.id !== id) continue
          if (frame.type === TOOL_FRAME.started) started = true
          if (frame.type === TOOL_FRAME.stdout) out.push(frame.payload)
          if (frame.type === TOOL_FRAME.stderr) err.push(frame.payload)
          if (frame.type === TOOL_FRAME.stdout || frame.type === TOOL_FRAME.stderr)
            client.send(TOOL_FRAME.window, id, encodeU32(frame.payload.length))
          if (frame.type === TOOL_FRAME.exit && typeof frame.json === 'object' && frame.json !== null)
            return {
              stdout: Buffer.concat(out),
              stderr: Buffer.concat(err),
              exit: Object.fromEntries(Object.entries(frame.json)),
              started,
            }
        }
      },
    }
    socket.once('connect', () => {
      socket.off('error', reject)
      socket.on('error', () => undefined)
      resolve(client)
    })
  })
}

/** Sends bytes to a v1 socket and answers with the lines that come back before it is closed or `count` are there. */
export function exchangeV1(path: string, bytes: string | Uint8Array, count: number): Promise<string[]> {
  return new Promise((resolve, reject) => {
    const socket = connect(path)
    let text = ''
    socket.once('error', reject)
    socket.on('connect', () => {
      socket.off('error', reject)
      socket.on('error', () => undefined) // it may be closed while we still write
      socket.write(bytes)
    })
    socket.on('data', chunk => {
      text += chunk.toString('utf8')
      if (text.split('\n').length > count) socket.end()
    })
    socket.on('close', () => resolve(text.split('\n').slice(0, -1)))
  })
}
