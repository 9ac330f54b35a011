/** A session as a stream of events (`text/event-stream`): a viewer that only looks. */
import type { ServerResponse } from 'node:http'
import { type AttachAsk, connect, type Viewer } from '@beige/host'
import type { SessionId } from '@beige/protocol'
import type { Principal } from './guard.ts'
import type { Serving } from './serving.ts'
import type { OpenViewer } from './viewers.ts'

/** Resolves when the stream is open. Rejects where the session could not be opened; nothing was written then. */
export async function streamEvents(
  serving: Serving,
  response: ServerResponse,
  { id, principal, ask }: { id: SessionId; principal: Principal; ask: AttachAsk },
): Promise<void> {
  const { clock } = serving
  const now = clock.monotonic()
  const open: OpenViewer = {
    ...{ token: principal.token, connection: null, sentAt: now, pingedAt: now, aliveAt: now },
    close: () => void response.destroy(),
  }
  const viewer: Viewer = {
    origin: principal.origin,
    role: 'view',
    send: (frame, text) => {
      if (!response.headersSent) {
        response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store' })
      }
      open.sentAt = clock.monotonic()
      response.write(`id: ${frame.seq}\ndata: ${text}\n\n`, () => {
        open.aliveAt = clock.monotonic()
        open.connection?.drained()
      })
    },
    buffered: () => response.writableLength,
    closed: () => void response.end(),
  }
  const connection = await connect({ host: serving.host, viewer, id, fresh: serving.fresh(), ask })
  open.connection = connection
  const gone = serving.viewers.add(open)
  response.once('close', () => {
    gone()
    connection.close()
  })
  if (response.destroyed) {
    gone()
    connection.close()
  }
}
