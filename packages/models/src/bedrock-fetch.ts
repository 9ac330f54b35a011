/**
 * Amazon's library brings its own HTTP client and takes no `fetch`. Here its requests are handed to the `fetch` of the
 * attempt that makes them, so that Bedrock's failures keep status and headers as everybody's do, one attempt stays one
 * request, and no client of the library's opens a connection (docs/decisions/bedrock-through-our-fetch.md).
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { Readable } from 'node:stream'
import { NodeHttpHandler } from '@smithy/node-http-handler'
import { fail } from './errors.ts'
import type { Fetch } from './system-fetch.ts'

const sender = new AsyncLocalStorage<Fetch>()
let isInstalled = false

/** Runs what calls Amazon's library; inside, and in all that it starts, `send` is its network. Nothing is installed before. */
export function withSender<T>(send: Fetch, run: () => T): T {
  if (!isInstalled) {
    isInstalled = true
    const own = NodeHttpHandler.prototype.handle
    NodeHttpHandler.prototype.handle = function handle(request, options) {
      const ours = sender.getStore()
      return ours === undefined
        ? own.call(this, request, options)
        : handed(ours, request, options?.abortSignal)
    }
  }
  return sender.run(send, run)
}

type Handle = typeof NodeHttpHandler.prototype.handle
type Answer = Awaited<ReturnType<Handle>>

async function handed(
  send: Fetch,
  request: Parameters<Handle>[0],
  abort: NonNullable<Parameters<Handle>[1]>['abortSignal'],
): Promise<Answer> {
  const { protocol, hostname, port, path, method, headers, body } = request
  const { host: _host, 'content-length': _length, ...sent } = headers // what `fetch` says itself
  const response = await send(`${protocol}//${hostname}${port === undefined ? '' : `:${port}`}${path}`, {
    method,
    headers: sent,
    ...(typeof body === 'string' || body instanceof Uint8Array
      ? { body: new Uint8Array(Buffer.from(body)) }
      : {}),
    ...(abort instanceof AbortSignal ? { signal: abort } : {}),
  })
  // The library would ask again on its own; an error of no kind that it knows ends it, and we have the answer.
  if (!response.ok) throw fail('refused_by_vendor', { status: response.status, text: await response.text() })
  const stream = response.body === null ? Readable.from([]) : Readable.from(response.body)
  return {
    response: {
      statusCode: response.status,
      reason: response.statusText,
      headers: Object.fromEntries(response.headers),
      body: stream,
    },
  }
}
