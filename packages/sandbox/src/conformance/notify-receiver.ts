/** Where an endpoint tells that a job has ended: a small server of the kit that records what comes and answers as told. */
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { Random } from '@beige/protocol'
import { newName } from './names.ts'

const MAX_BODY_BYTES = 1024 * 1024

/** Where the kit listens, and the URL under which the endpoint reaches that. */
export type NotifyPlace = {
  listen: { host: string; port: number } | { socketPath: string }
  /** Absent: the URL of the loopback port. */
  url?: string
}
export type Notification = { atMs: number; headers: IncomingHttpHeaders; body: string }
export type Mailbox = {
  url: string
  received: Notification[]
  /** Statuses of the next answers, in order; 204 after them. */
  statuses: number[]
}
export type NotifyReceiver = { mailbox(): Mailbox; close(): void }

export async function notifyReceiver(
  place: NotifyPlace,
  random: Random,
  nowMs: () => number,
): Promise<NotifyReceiver> {
  const boxes = new Map<string, Mailbox>()
  const server = createServer(async (request, response) => {
    let body = ''
    try {
      for await (const part of request.setEncoding('utf8')) {
        body += part
        if (body.length > MAX_BODY_BYTES) return request.destroy()
      }
    } catch {
      return // broken off by its sender, who will come again
    }
    const box = boxes.get(new URL(request.url ?? '/', 'http://kit').pathname.split('/').at(-1) ?? '')
    if (request.method === 'POST') box?.received.push({ atMs: nowMs(), headers: request.headers, body })
    response.writeHead(box ? (box.statuses.shift() ?? 204) : 410).end()
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    // The endpoint may be another user of this machine.
    if ('socketPath' in place.listen)
      server.listen({ path: place.listen.socketPath, writableAll: true }, resolve)
    else server.listen(place.listen.port, place.listen.host, resolve)
  })
  const address = server.address()
  const port = typeof address === 'object' && address ? address.port : 0
  const base = (place.url ?? `http://127.0.0.1:${port}`).replace(/\/$/, '')
  return {
    mailbox() {
      const name = newName(random)
      const box: Mailbox = { url: `${base}/${name}`, received: [], statuses: [] }
      boxes.set(name, box)
      return box
    },
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}
