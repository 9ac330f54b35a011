/**
 * In front of a real exec endpoint: lets the base request through and nothing else, so that its client meets an endpoint that
 * has no `/health`, no files, no streams and no jobs.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export type BaseEndpoint = AsyncDisposable & { socketPath: string }

const BEYOND_BASE = ['stream', 'job', 'stdin_open']

export async function startBaseEndpoint(behindSocketPath: string): Promise<BaseEndpoint> {
  const folder = await mkdtemp(join(tmpdir(), 'beige-base-'))
  const socketPath = join(folder, 'exec.sock')
  const server = createServer((incoming, response) => {
    response.on('error', () => undefined)
    forward(incoming, response, behindSocketPath).catch(error =>
      refuse(response, 502, 'internal', String(error)),
    )
  })
  await new Promise<void>(resolve => server.listen(socketPath, resolve))
  return {
    socketPath,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function forward(
  incoming: IncomingMessage,
  response: ServerResponse,
  socketPath: string,
): Promise<void> {
  const parts: Buffer[] = []
  for await (const part of incoming) parts.push(part)
  const body = Buffer.concat(parts)
  if (incoming.method !== 'POST' || incoming.url !== '/')
    return refuse(response, 404, 'not_found', 'no such call')
  const asked: unknown = JSON.parse(body.toString())
  const beyond = BEYOND_BASE.find(
    key => typeof asked === 'object' && asked !== null && Object.hasOwn(asked, key),
  )
  if (beyond !== undefined)
    return refuse(response, 400, 'bad_request', `${beyond} is not of the base request`)
  const outgoing = request({ socketPath, method: 'POST', path: '/', headers: incoming.headers }, answer => {
    response.writeHead(answer.statusCode ?? 502, answer.headers)
    answer.pipe(response)
  })
  outgoing.on('error', error => refuse(response, 502, 'internal', error.message))
  response.on('close', () => outgoing.destroy())
  outgoing.end(body)
}

function refuse(response: ServerResponse, status: number, code: string, message: string): void {
  if (response.headersSent) return void response.destroy()
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ error: { code, message } }))
}
