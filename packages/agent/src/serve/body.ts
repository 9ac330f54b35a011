/** Check 7 of who may connect: one JSON object, capped while it is read. */
import type { IncomingMessage } from 'node:http'
import { type Clock, MAX_COMMAND_BYTES, MAX_JSON_DEPTH } from '@beige/protocol'

const BODY_MS = 30_000
const JSON_TYPE = /^application\/json *(; *charset="?utf-8"?)? *$/i

export type Body =
  | { ok: true; value: Record<string, unknown> }
  | { ok: false; status: number; code: string; message: string }

const bad = (status: number, code: string, message: string): Body => ({ ok: false, status, code, message })

export async function readCommand(request: IncomingMessage, clock: Clock): Promise<Body> {
  const { headers } = request
  if (!JSON_TYPE.test(headers['content-type'] ?? '')) {
    return bad(415, 'content_type', 'Content-Type must be application/json')
  }
  if ((headers['content-encoding'] ?? 'identity') !== 'identity') {
    return bad(415, 'content_encoding', 'no content encoding is understood')
  }
  if (Number(headers['content-length'] ?? 0) > MAX_COMMAND_BYTES) return tooLarge
  const bytes = await readAll(request, clock)
  if (bytes === 'too large') return tooLarge
  if (bytes === 'late') return bad(408, 'timeout', `the body was not complete within ${BODY_MS / 1000} s`)
  return parseCommand(bytes)
}

const tooLarge = bad(413, 'too_large', `a command has at most ${MAX_COMMAND_BYTES} bytes`)

/** UTF-8, one JSON object, not too deep. */
export function parseCommand(bytes: Uint8Array): Body {
  let value: unknown
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    if (depthOf(text) > MAX_JSON_DEPTH)
      return bad(400, 'bad_request', `more than ${MAX_JSON_DEPTH} levels deep`)
    value = JSON.parse(text)
  } catch {
    return bad(400, 'bad_request', 'not JSON in UTF-8')
  }
  return isObject(value) ? { ok: true, value } : bad(400, 'bad_request', 'not one JSON object')
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Levels of brackets outside of strings; looked at before anything recursive sees the text. */
export function depthOf(text: string): number {
  let depth = 0
  let deepest = 0
  let isInString = false
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (isInString) {
      if (code === 0x5c) at++
      else if (code === 0x22) isInString = false
    } else if (code === 0x22) isInString = true
    else if (code === 0x7b || code === 0x5b) deepest = Math.max(deepest, ++depth)
    else if (code === 0x7d || code === 0x5d) depth--
  }
  return deepest
}

async function readAll(request: IncomingMessage, clock: Clock): Promise<Uint8Array | 'too large' | 'late'> {
  const over = new AbortController()
  const read = async (): Promise<Uint8Array | 'too large'> => {
    const chunks: Uint8Array[] = []
    let bytes = 0
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      if (!(chunk instanceof Uint8Array)) continue
      bytes += chunk.length
      if (bytes > MAX_COMMAND_BYTES) return 'too large'
      chunks.push(chunk)
    }
    return Buffer.concat(chunks)
  }
  const late = clock.sleep(BODY_MS, over.signal).then(() => 'late' as const)
  late.catch(() => {})
  try {
    return await Promise.race([read(), late])
  } finally {
    over.abort()
  }
}
