/** A session over a WebSocket: one JSON object a text message, both ways. */
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { type AttachAsk, connect, refusal, serveCode, type Viewer } from '@beige/host'
import {
  BeigeError,
  CLOSE,
  isError,
  MAX_COMMAND_BYTES,
  messageOf,
  PAUSE_BYTES,
  type SessionId,
} from '@beige/protocol'
import { type RawData, WebSocket, WebSocketServer } from 'ws'
import { fail } from '../errors.ts'
import { parseCommand } from './body.ts'
import { type Principal, WS_PROTOCOL } from './guard.ts'
import type { Serving } from './serving.ts'
import type { OpenViewer } from './viewers.ts'

const CLOSE_MS = 2000 // for the other side to answer a close
const MAX_REASON_BYTES = 120 // of 123 in a close frame

export type Upgrade = {
  request: IncomingMessage
  socket: Duplex
  head: Buffer
  id: SessionId
  principal: Principal
  role: 'drive' | 'view'
  ask: AttachAsk
}

export interface WebSockets {
  upgrade(upgrade: Upgrade): void
}

export function createWebSockets(serving: Serving): WebSockets {
  const server = new WebSocketServer({
    noServer: true,
    maxPayload: MAX_COMMAND_BYTES,
    perMessageDeflate: false, // 64 KB and more for each connection
    clientTracking: false,
    handleProtocols: protocols => (protocols.has(WS_PROTOCOL) ? WS_PROTOCOL : false),
  })
  const ids = new WeakMap<IncomingMessage, SessionId>()
  server.on('headers', (headers, request) => {
    const id = ids.get(request)
    if (id !== undefined) headers.push(`X-Session-Id: ${id}`)
  })
  return {
    upgrade: upgrade => {
      ids.set(upgrade.request, upgrade.id)
      server.handleUpgrade(upgrade.request, upgrade.socket, upgrade.head, socket => {
        serve(serving, socket, upgrade).catch(error => serving.logError(error))
      })
    },
  }
}

async function serve(serving: Serving, socket: WebSocket, upgrade: Upgrade): Promise<void> {
  const { clock } = serving
  const { principal, id } = upgrade
  const now = clock.monotonic()
  const open: OpenViewer = {
    ...{ token: principal.token, connection: null, sentAt: now, pingedAt: now, aliveAt: now },
    ping: () => socket.ping(),
    close: (code, reason) => close(serving, socket, code, reason),
  }
  const gone = serving.viewers.add(open)
  const alive = () => {
    open.aliveAt = clock.monotonic()
  }

  const viewer: Viewer = {
    origin: principal.origin,
    role: upgrade.role,
    send: (_frame, text) => {
      open.sentAt = clock.monotonic()
      socket.send(text, () => {
        // Its other side has taken it.
        alive()
        open.connection?.drained()
        if (socket.isPaused && socket.bufferedAmount <= PAUSE_BYTES) socket.resume()
      })
      // Whoever does not read what was answered is not asked for more.
      if (socket.bufferedAmount > PAUSE_BYTES) socket.pause()
    },
    buffered: () => socket.bufferedAmount,
    closed: (code, reason) => open.close(code, reason),
  }

  const message = (data: RawData, isBinary: boolean) => {
    alive()
    if (isBinary) return open.close(CLOSE.binary, 'text messages only')
    const body = parseCommand(bytesOf(data))
    if (body.ok) void open.connection?.handle(body.value)
    else open.connection?.private({ ...refusal(fail('bad_request', { reason: body.message })), command: '' })
  }

  socket.on('message', message)
  socket.on('pong', alive)
  socket.on('error', () => {}) // 'close' follows, with the code that says why
  socket.once('close', () => {
    gone()
    open.connection?.close()
  })
  socket.pause() // nothing is lost of what is sent while the session opens
  try {
    open.connection = await connect({
      ...{ host: serving.host, viewer, id, fresh: serving.fresh(), ask: upgrade.ask },
    })
    if (socket.readyState !== WebSocket.OPEN) open.connection.close()
    socket.resume()
  } catch (error) {
    socket.resume()
    const frame = { type: 'error', seq: 0, session_id: id, ...codeOf(error) }
    socket.send(JSON.stringify(frame))
    const isPassing = isError(error, 'stopping', 'too_many_viewers', 'closing')
    open.close(isPassing ? CLOSE.later : CLOSE.failed, messageOf(error))
  }
}

function codeOf(error: unknown) {
  return {
    code: error instanceof BeigeError ? serveCode(error.code) : 'internal',
    error: messageOf(error),
  }
}

function close({ clock }: Serving, socket: WebSocket, code: number, reason: string): void {
  socket.resume() // else the answer to the close is never seen
  socket.close(
    code,
    Buffer.from(reason)
      .subarray(0, MAX_REASON_BYTES)
      .toString('utf8')
      .replace(/\uFFFD+$/, ''),
  )
  const over = new AbortController()
  socket.once('close', () => over.abort())
  clock.sleep(CLOSE_MS, over.signal).then(
    () => socket.terminate(),
    () => {},
  )
}

function bytesOf(data: RawData): Uint8Array {
  if (Array.isArray(data)) return Buffer.concat(data)
  return data instanceof ArrayBuffer ? new Uint8Array(data) : data
}
