/** Set-up of the tests of listeners: the real command, and raw clients that check every frame against the schema. */
import { request as httpRequest, type RequestOptions } from 'node:http'
import type { Frame } from '@beige/protocol'
import { checkFrame, type FaithfulClient, faithfulClient } from '@beige/test-support'
import { WebSocket } from 'ws'
import type { AgentBench, AgentChild } from './agent-bench.ts'

export type Answer = { status: number; headers: NodeJS.Dict<string | string[]>; body: unknown }

export type WireClient = FaithfulClient & {
  socket: WebSocket
  frames: Frame[]
  send(command: unknown): void
  /** The first frame, of those that came or will come, that `find` accepts. */
  frame(find: (frame: Frame) => boolean): Promise<Frame>
  response(id: string): Promise<Frame & { type: 'response' }>
  /** Resolves with the code. */
  closed: Promise<number>
}

export type Served = {
  child: AgentChild
  /** `host:port` of the first TCP listener. */
  address: string
  /** Every listener, by kind. */
  listeners: readonly { kind: string; address: string }[]
  post(command: unknown, options?: PostOptions): Promise<Answer>
  connect(query: string, options?: ConnectOptions): Promise<WireClient>
}

export type PostOptions = RequestOptions & { session?: string; raw?: string | Buffer }
export type ConnectOptions = {
  headers?: Record<string, string>
  protocols?: string[]
  known?: FaithfulClient
  url?: string
}

/** Starts `agent serve` with these flags and waits until it listens. */
export async function served(
  bench: AgentBench,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<Served> {
  const child = bench.start(['serve', '--sandbox', 'host', ...args], env)
  const line = await child.frame({ type: 'listening' })
  const listeners = Array.isArray(line.listeners) ? line.listeners : []
  const address = listeners.find(one => one.kind === 'tcp')?.address ?? ''
  return {
    child,
    address,
    listeners,
    post: (command, options) => post(address, command, options),
    connect: (query, options) => connectTo(options?.url ?? `ws://${address}`, query, options),
  }
}

export function post(address: string, command: unknown, options: PostOptions = {}): Promise<Answer> {
  const { session, raw, headers, ...rest } = options
  const [host, port] = address.split(':')
  const body = raw ?? JSON.stringify(command)
  return new Promise((resolve, reject) => {
    const sent = httpRequest(
      {
        ...{ host, port, method: 'POST' },
        path: `/_beyond/agent${session === undefined ? '' : `?session_id=${session}`}`,
        headers: { 'Content-Type': 'application/json', ...headers },
        ...rest,
      },
      response => {
        const chunks: Buffer[] = []
        response.on('data', chunk => chunks.push(chunk))
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString()
          const value: unknown = text === '' ? null : JSON.parse(text)
          if (response.statusCode === 200 || response.statusCode === 202) checkFrame(value)
          resolve({ status: response.statusCode ?? 0, headers: response.headers, body: value })
        })
      },
    )
    sent.on('error', reject)
    sent.end(body)
  })
}

export function connectTo(url: string, query: string, options: ConnectOptions = {}): Promise<WireClient> {
  const { headers, protocols = [], known } = options
  const socket = new WebSocket(`${url}/_beyond/agent?${query}`, protocols, {
    ...(headers ? { headers } : {}),
    rejectUnauthorized: false,
  })
  const client = known ?? faithfulClient()
  const frames: Frame[] = []
  const waiting = new Set<() => void>()
  const closed = new Promise<number>(resolve => socket.once('close', resolve))
  socket.on('message', data => {
    const frame: unknown = JSON.parse(String(data))
    checkFrame(frame)
    client.take(frame)
    frames.push(frame)
    for (const look of [...waiting]) look()
  })
  const frame = (find: (frame: Frame) => boolean) =>
    new Promise<Frame>((resolve, reject) => {
      const look = () => {
        const found = frames.find(find)
        if (!found) return
        waiting.delete(look)
        resolve(found)
      }
      waiting.add(look)
      closed.then(code => reject(new Error(`closed with ${code}`)))
      look()
    })
  const wire: WireClient = Object.assign(client, {
    socket,
    frames,
    closed,
    frame,
    send: (command: unknown) => socket.send(JSON.stringify(command)),
    response: async (id: string) => {
      const found = await frame(one => one.type === 'response' && one.id === id)
      if (found.type !== 'response') throw new Error('no response')
      return found
    },
  })
  return new Promise((resolve, reject) => {
    socket.once('open', () => resolve(wire))
    socket.once('unexpected-response', (_request, response) => {
      reject(Object.assign(new Error(`refused with ${response.statusCode}`), { status: response.statusCode }))
      socket.terminate()
    })
    socket.on('error', reject)
  })
}
