/** Asks the gateway of this home over its control socket. */
import { closeSync, constants, openSync } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import { basename, dirname } from 'node:path'
import { text } from 'node:stream/consumers'
import { fail } from '../errors.ts'
import type { Layout } from '../home/layout.ts'

export type Answer = { status: number; value: unknown }

const ANSWER_TIMEOUT_MS = 10_000

/** Null where nobody listens. */
export async function askGateway(
  layout: Layout,
  method: 'GET' | 'POST' | 'DELETE',
  path: string,
  body?: unknown,
): Promise<Answer | null> {
  const response = await open(layout, method, path, body, AbortSignal.timeout(ANSWER_TIMEOUT_MS))
  if (response === null) return null
  const said = await text(response)
  return { status: response.statusCode ?? 0, value: parsed(said) }
}

/** Opens a streamed answer; throws `not_running` where nobody listens. */
export async function streamGateway(
  layout: Layout,
  path: string,
  body: unknown,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const response = await open(layout, 'POST', path, body, signal)
  if (response === null) throw fail('not_running', { home: layout.home })
  return response
}

function open(
  layout: Layout,
  method: string,
  path: string,
  body: unknown,
  signal: AbortSignal,
): Promise<IncomingMessage | null> {
  let folder: number
  try {
    folder = openSync(dirname(layout.controlSocket), constants.O_RDONLY | constants.O_DIRECTORY)
  } catch {
    return Promise.resolve(null)
  }
  const payload = body === undefined ? undefined : JSON.stringify(body)
  return new Promise((resolve, reject) => {
    const asked = request({
      // Through the folder's descriptor: the path of a home may be too long for a socket.
      socketPath: `/proc/self/fd/${folder}/${basename(layout.controlSocket)}`,
      method,
      path,
      signal,
      headers: {
        Host: 'localhost',
        ...(payload === undefined
          ? {}
          : { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(payload) }),
      },
    })
    asked.once('socket', socket => socket.once('close', () => closeSync(folder)))
    asked.once('response', resolve)
    asked.once('error', error => {
      const isNobody =
        'code' in error && ['ENOENT', 'ECONNREFUSED', 'ECONNRESET'].includes(String(error.code))
      if (isNobody) resolve(null)
      else reject(error)
    })
    asked.end(payload)
  })
}

function parsed(said: string): unknown {
  try {
    const value: unknown = JSON.parse(said)
    return value
  } catch {
    return null
  }
}

/** The `{code, message, advice}` of an error answer. */
export function errorOf(value: unknown): { code: string; message: string; advice: string } {
  const error = fieldOf(value, 'error')
  const text = (name: string) => {
    const found = fieldOf(error, name)
    return typeof found === 'string' ? found : ''
  }
  return { code: text('code'), message: text('message') || 'no answer', advice: text('advice') }
}

export function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null
    ? Object.getOwnPropertyDescriptor(value, name)?.value
    : undefined
}
