/** A gateway's tool socket in a few lines: frames in, frames out, as each test wants them. */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { BINARY } from './execd.ts'

export const FRAME = {
  hello: 0x01,
  welcome: 0x02,
  request: 0x10,
  started: 0x11,
  stdin: 0x12,
  stdout: 0x13,
  stderr: 0x14,
  window: 0x15,
  cancel: 0x16,
  exit: 0x17,
  ping: 0x18,
  pong: 0x19,
  error: 0x1f,
} as const

export type Frame = { type: number; id: number; payload: Buffer }
export type Call = {
  hello: { token?: string; client: string }
  request: { tool: string; args?: string[]; args_b64?: string[]; cwd?: string; stdin: boolean }
  send(type: number, payload?: Buffer | string | object): void
  /** The client's frames behind the request. */
  frames: AsyncIterator<Frame>
  socket: Socket
}
export type Ended = { code: number | null; signal: string | null; stdout: Buffer; stderr: string }

export function frame(type: number, id: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(9)
  head.writeUInt32BE(payload.length + 5, 0)
  head.writeUInt8(type, 4)
  head.writeUInt32BE(id, 5)
  return Buffer.concat([head, payload])
}

/** Answers each call with `serve`; welcome and started are sent before. */
export async function startGateway(
  t: TestContext,
  serve: (call: Call) => Promise<void> | void,
  path?: string,
) {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-test-'))
  const socketPath = path ?? join(folder, 'gateway.sock')
  const server = createServer(socket => {
    socket.on('error', () => {})
    void answer(socket, serve).catch(() => socket.destroy())
  })
  server.listen(socketPath)
  await new Promise<void>(resolve => server.once('listening', () => resolve()))
  t.after(() => {
    server.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const start = (
    tool: string,
    args: readonly string[] = [],
    options: { env?: Record<string, string>; cwd?: string } = {},
  ) => {
    const launcher = join(folder, tool)
    rmSync(launcher, { force: true })
    symlinkSync(BINARY, launcher)
    const env = { BEIGE_GATEWAY_SOCKET: socketPath, ...options.env }
    const child = spawn(launcher, args, { env, cwd: options.cwd ?? folder, stdio: 'pipe' })
    child.stdin.on('error', () => {})
    const stdout: Buffer[] = []
    let stderr = ''
    child.stderr.on('data', data => {
      stderr += data
    })
    child.stdout.on('data', data => stdout.push(data))
    const ended = new Promise<Ended>(resolve =>
      child.once('close', (code, signal) => resolve({ code, signal, stdout: Buffer.concat(stdout), stderr })),
    )
    return { child, ended }
  }
  return { folder, socketPath, start }
}

async function answer(socket: Socket, serve: (call: Call) => Promise<void> | void): Promise<void> {
  const frames = framesOf(socket)
  const hello = (await frames.next()).value
  const request = (await frames.next()).value
  if (hello?.type !== FRAME.hello || request?.type !== FRAME.request)
    throw new Error('hello and request come first')
  const { id } = request
  const send = (type: number, payload: Buffer | string | object = Buffer.alloc(0)) => {
    const isBytes = Buffer.isBuffer(payload)
    const bytes = isBytes
      ? payload
      : Buffer.from(typeof payload === 'string' ? payload : JSON.stringify(payload))
    socket.write(frame(type, type === FRAME.welcome || type === FRAME.error ? 0 : id, bytes))
  }
  send(FRAME.welcome, { version: 2, agent: 'a', session: 's', limits: {} })
  const call = {
    hello: JSON.parse(hello.payload.toString()),
    request: JSON.parse(request.payload.toString()),
  }
  await serve({ ...call, send, frames, socket })
}

async function* framesOf(socket: Socket): AsyncGenerator<Frame> {
  let bytes = Buffer.alloc(0)
  let isGreeted = false
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
    bytes = Buffer.concat([bytes, chunk])
    if (!isGreeted && bytes.length >= 5) {
      if (bytes.subarray(0, 5).toString() !== 'BGS2\n') throw new Error('no preamble')
      bytes = bytes.subarray(5)
      isGreeted = true
    }
    while (isGreeted && bytes.length >= 9 && bytes.length >= 4 + bytes.readUInt32BE(0)) {
      const end = 4 + bytes.readUInt32BE(0)
      yield { type: bytes.readUInt8(4), id: bytes.readUInt32BE(5), payload: bytes.subarray(9, end) }
      bytes = bytes.subarray(end)
    }
  }
}
