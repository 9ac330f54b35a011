/** A real HTTP server that answers as a test says: torn, cut, silent or plainly wrong. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createExecClient, type ExecClient, type ExecClientOptions } from '../src/index.ts'

export type Seen = { method: string; url: string; headers: IncomingMessage['headers']; body: string }
export type Answer = (response: ServerResponse, seen: Seen) => void | Promise<void>
export type WrongEndpoint = {
  exec: ExecClient
  url: string
  seen: Seen[]
  /** Connections that were ever made. */
  connections(): number
} & AsyncDisposable

export const HEALTH = {
  protocol: 'exec/2',
  version: 'test',
  instance: 'one',
  features: ['stream', 'jobs', 'files', 'fence'],
  limits: { max_request_bytes: 1_000_000, max_response_bytes: 1_000_000 },
}

export const START = { type: 'start', job: 'j1', pid: 7 }
export const EXIT = { type: 'exit', exit_code: 0, signal: null, timed_out: false }
export const out = (text: string | Buffer, offset = 0, type: 'stdout' | 'stderr' = 'stdout') => ({
  type,
  offset,
  data: Buffer.from(text).toString('base64'),
})
export const lines = (...frames: object[]) => frames.map(frame => `${JSON.stringify(frame)}\n`).join('')

/** Routes by `METHOD /path`; `GET /health` answers with a good one unless given. */
export async function wrongEndpoint(
  routes: Readonly<Record<string, Answer>>,
  options: ExecClientOptions = {},
): Promise<WrongEndpoint> {
  const seen: Seen[] = []
  const all: Readonly<Record<string, Answer>> = {
    'GET /health': response => json(response, HEALTH),
    ...routes,
  }
  let connections = 0
  const server = createServer(async (request, response) => {
    let body = ''
    request.on('error', () => undefined)
    response.on('error', () => undefined)
    for await (const chunk of request) body += String(chunk)
    const { method = '', url = '', headers } = request
    const now = { method, url, headers, body }
    seen.push(now)
    const answer = all[`${method} ${url.split('?')[0]}`]
    if (answer) await answer(response, now)
    else json(response, { error: { code: 'not_found', message: url } }, 404)
  })
  server.on('connection', () => connections++)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const url = `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`
  const exec = createExecClient({ kind: 'url', url, headers: { authorization: 'Bearer t' } }, options)
  return {
    exec,
    url,
    seen,
    connections: () => connections,
    async [Symbol.asyncDispose]() {
      await exec.close()
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
}

export function json(response: ServerResponse, value: unknown, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify(value))
}

export function ndjson(response: ServerResponse): ServerResponse {
  return response.writeHead(200, { 'content-type': 'application/x-ndjson' })
}
