/** `POST /_beyond/exec-notify`: from HTTP to the host's handler. It brings a token of its own, which that checks. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ExecNotify } from '@beige/host'
import type { Clock } from '@beige/protocol'
import { readCommand } from './body.ts'

const LATER_SECS = '1'

export async function execNotified(
  notify: ExecNotify,
  clock: Clock,
  { request, response, url }: { request: IncomingMessage; response: ServerResponse; url: URL },
): Promise<void> {
  const body = await readCommand(request, clock)
  if (!body.ok) return end(response, body.status)
  const { status, owner } = await notify({
    sessionId: url.searchParams.get('session_id'),
    authorization: request.headers.authorization,
    body: body.value,
  })
  if (response.destroyed) return
  if (status === 503) response.setHeader('Retry-After', LATER_SECS)
  if (owner !== undefined) response.setHeader('X-Agent-Owner', owner)
  end(response, status)
}

/** No detail: a sandbox acts on the status alone. */
function end(response: ServerResponse, status: number): void {
  if (!response.destroyed) response.writeHead(status, { 'Content-Length': 0 }).end()
}
