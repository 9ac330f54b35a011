/** Reads a request's JSON body with every bound there is: type, encoding, bytes while they arrive, time, depth. */
import type { IncomingMessage } from 'node:http'
import type { Clock } from '@beige/protocol'
import { fail } from '../errors.ts'

export const BODY_TIMEOUT_MS = 30_000
export const MAX_JSON_DEPTH = 64
const LINGER_MS = 2_000 // in which a client that still sends can read why it is refused

/** Rejects with `bad_content_type`, `body_too_large`, `body_timeout`, `bad_request`. */
export async function readJsonBody(
  request: IncomingMessage,
  maxBytes: number,
  clock: Clock,
): Promise<unknown> {
  const type = request.headers['content-type'] ?? ''
  if (!/^application\/json(?:\s*;\s*charset="?utf-8"?)?\s*$/i.test(type)) throw fail('bad_content_type')
  if ((request.headers['content-encoding'] ?? 'identity') !== 'identity') throw fail('bad_content_type')
  const announced = Number(request.headers['content-length'] ?? 0)
  if (announced > maxBytes) {
    linger(request, clock)
    throw fail('body_too_large', { maxBytes })
  }
  const bytes = await readBytes(request, maxBytes, clock)
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (error) {
    throw fail('bad_request', { reason: 'the body is not UTF-8' }, error)
  }
  if (depthOf(text) > MAX_JSON_DEPTH)
    throw fail('bad_request', { reason: `JSON deeper than ${MAX_JSON_DEPTH} levels` })
  try {
    const value: unknown = JSON.parse(text)
    return value
  } catch (error) {
    throw fail('bad_request', { reason: 'the body is not JSON' }, error)
  }
}

async function readBytes(request: IncomingMessage, maxBytes: number, clock: Clock): Promise<Uint8Array> {
  const parts: Uint8Array[] = []
  let total = 0
  const arrived = new AbortController()
  let late = false
  clock.sleep(BODY_TIMEOUT_MS, arrived.signal).then(
    () => {
      late = true
      request.destroy()
    },
    () => undefined,
  )
  try {
    // Left early, the loop would destroy the connection, and with it the answer.
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      if (!(chunk instanceof Uint8Array)) continue
      total += chunk.length
      if (total > maxBytes) break
      parts.push(chunk)
    }
    if (total <= maxBytes) return Buffer.concat(parts)
    linger(request, clock)
    throw fail('body_too_large', { maxBytes })
  } catch (error) {
    if (late) throw fail('body_timeout', { timeoutMs: BODY_TIMEOUT_MS }, error)
    throw error
  } finally {
    arrived.abort()
  }
}

/** Lets what still arrives go by for a while, since a connection that is closed with bytes unread loses its answer. */
function linger(request: IncomingMessage, clock: Clock): void {
  const closed = new AbortController()
  request.socket.once('close', () => closed.abort())
  request.resume()
  clock.sleep(LINGER_MS, closed.signal).then(
    () => request.socket.destroy(),
    () => undefined,
  )
}

/** Looked at before it is parsed: a parser recurses, this does not. */
function depthOf(text: string): number {
  let depth = 0
  let deepest = 0
  let isInText = false
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (isInText) {
      if (code === 0x5c) at++
      else if (code === 0x22) isInText = false
    } else if (code === 0x22) isInText = true
    else if (code === 0x5b || code === 0x7b) deepest = Math.max(deepest, ++depth)
    else if (code === 0x5d || code === 0x7d) depth--
  }
  return deepest
}
