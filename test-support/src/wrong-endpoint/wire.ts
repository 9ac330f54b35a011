/** Requests and answers of the endpoint: JSON, the page's errors, bodies with a bound. */
import type { IncomingMessage, ServerResponse } from 'node:http'

const STATUS = {
  unauthorized: 401,
  bad_request: 400,
  not_found: 404,
  conflict: 409,
  gone: 410,
  too_large: 413,
  internal: 500,
} as const
export type Code = keyof typeof STATUS

export class Refusal extends Error {
  readonly code: Code
  readonly status: number
  constructor(code: Code, message: string, status: number = STATUS[code]) {
    super(message)
    this.code = code
    this.status = status
  }
}

export function sendJson(response: ServerResponse, status: number, value: unknown): void {
  const body = JSON.stringify(value)
  response
    .writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) })
    .end(body)
}

export function sendRefusal(response: ServerResponse, error: unknown): void {
  const { code, status, message } =
    error instanceof Refusal ? error : { code: 'internal', status: 500, message: String(error) }
  if (response.headersSent) response.destroy()
  else sendJson(response, status, { error: { code, message } })
}

export async function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) {
    request.resume() // to its end, or the answer could be lost in a reset
    throw new Refusal('too_large', `a request may have ${maxBytes} bytes`)
  }
  const parts: Buffer[] = []
  let bytes = 0
  for await (const part of request) {
    bytes += part.length
    if (bytes > maxBytes) throw new Refusal('too_large', `a request may have ${maxBytes} bytes`)
    parts.push(part)
  }
  return Buffer.concat(parts)
}

export type Wanted = {
  command: string
  args: string[]
  cwd?: string
  env: Record<string, string | null>
  stdin?: string
  stdin_open: boolean
  timeout_ms?: number
  stream: boolean
  job?: WantedJob
}
export type WantedJob = {
  id: string
  scope: string
  instance?: string
  keep?: boolean
  notify?: { url: string; token: string }
  ttl_s?: number
}

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/
const ID = /^[A-Za-z0-9._-]{1,128}$/
const MAX_TIMEOUT_MS = 2_147_483_647

export function parseWanted(body: Buffer, takesAnyId: boolean): Wanted {
  const bad = (what: string) => new Refusal('bad_request', what)
  let value: Partial<Wanted> | null
  try {
    value = JSON.parse(body.toString())
  } catch {
    throw bad('not JSON')
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw bad('not an object')
  const { command, args = [], env = {}, stdin, timeout_ms, job } = value
  if (typeof command !== 'string' || command === '') throw bad('command')
  if (!Array.isArray(args) || args.some(arg => typeof arg !== 'string')) throw bad('args')
  if (stdin !== undefined && (typeof stdin !== 'string' || !BASE64.test(stdin))) throw bad('stdin')
  if (timeout_ms !== undefined && !(timeout_ms >= 1 && timeout_ms <= MAX_TIMEOUT_MS)) throw bad('timeout_ms')
  if (job !== undefined && !takesAnyId && !ID.test(job.id)) throw bad('job.id')
  const { stdin_open = false, stream = false } = value
  return { ...value, command, args, env, stdin_open, stream }
}
