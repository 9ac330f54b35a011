/** Sends lifecycle notifications by HTTP POST, to a URL or a Unix socket (`unix:///path.sock`). */
import { request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { LifecycleSink } from '@beige/host'
import { fail } from '../errors.ts'

const HEADER = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+): *([^\r\n]*)$/

/** Checked before anything starts. Throws `bad_value`. */
export function lifecycleSink(url: string, lines: readonly string[], heartbeatMs: number): LifecycleSink {
  const target = targetOf(url)
  const headers: Record<string, string> = {}
  for (const line of lines) {
    const [, name, value] = HEADER.exec(line) ?? []
    if (name === undefined || value === undefined) throw bad('--lifecycle-header', line, '"Name: value"')
    headers[name] = value
  }
  return {
    heartbeatMs,
    send: (event, signal) =>
      new Promise((resolve, reject) => {
        const body = JSON.stringify(event)
        const sent = target.request(
          target.url,
          {
            method: 'POST',
            signal,
            headers: {
              ...headers,
              'Content-Type': 'application/json',
              'Content-Length': Buffer.byteLength(body),
              'Idempotency-Key': event.event_id,
            },
            ...(target.socketPath === null ? {} : { socketPath: target.socketPath }),
          },
          response => {
            response.resume()
            response.once('end', () => resolve(response.statusCode ?? 0))
            response.once('error', reject)
          },
        )
        sent.once('error', reject)
        sent.end(body)
      }),
  }
}

function targetOf(text: string) {
  let url: URL
  try {
    url = new URL(text)
  } catch (error) {
    throw fail(
      'bad_value',
      { name: '--lifecycle-url', reason: `${text} is no URL`, expected: EXPECTED },
      error,
    )
  }
  if (url.protocol === 'unix:') {
    return { url: new URL('http://localhost/'), socketPath: url.pathname, request: httpRequest }
  }
  if (url.protocol === 'http:') return { url, socketPath: null, request: httpRequest }
  if (url.protocol === 'https:') return { url, socketPath: null, request: httpsRequest }
  throw bad('--lifecycle-url', text, EXPECTED)
}

const EXPECTED = 'http://…, https://… or unix:///path.sock'
const bad = (name: string, text: string, expected: string) =>
  fail('bad_value', { name, reason: `${JSON.stringify(text)} is none`, expected })
