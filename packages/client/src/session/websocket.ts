/** Channels over WebSocket: TCP, TLS and Unix sockets. */
import { WebSocket } from 'ws'
import { fail } from '../errors.ts'
import type { AttachAsk, Dialer } from './channel.ts'

const PATH = '/_beyond/agent'
const MAX_FRAME_BYTES = 64 * 1_048_576
const SILENCE_MS = 75_000 // as the server's: it sends a ping every 30 s

export type WebSocketOptions = {
  /** `http://…` or `https://…` of a server, or `unix:/path/of.sock`. */
  url: string
  token?: string
  role?: 'drive' | 'view'
  /** PEM of the authority to trust instead of the system's. */
  ca?: string
}

/** Opens channels to `agent serve --listen`, `--tls-listen` or `--listen-uds`. Errors: `no_connection` for a bad URL. */
export function webSocketDialer({ url, token, role, ca }: WebSocketOptions): Dialer {
  const base = baseOf(url)
  return {
    address: url,
    canReopen: true,
    dial: (sessionId, ask, listener) => {
      const query = queryOf({ ...ask, ...(sessionId && { session_id: sessionId }), ...(role && { role }) })
      const socket = new WebSocket(`${base}${PATH}${query}`, {
        maxPayload: MAX_FRAME_BYTES,
        perMessageDeflate: false,
        ...(token && { headers: { authorization: `Bearer ${token}` } }),
        ...(ca && { ca }),
      })
      let why = ''
      let silence: NodeJS.Timeout | undefined
      const heard = (): void => {
        clearTimeout(silence)
        silence = setTimeout(() => socket.terminate(), SILENCE_MS)
        silence.unref()
      }
      socket.on('open', heard)
      socket.on('ping', heard)
      socket.on('message', data => {
        heard()
        listener.text(data.toString())
      })
      socket.on('unexpected-response', (_request, response) => {
        why = `HTTP ${response.statusCode}`
        const isFinal = response.statusCode !== undefined && response.statusCode < 500
        response.resume()
        clearTimeout(silence)
        listener.end({ code: isFinal ? 1008 : 1013, reason: why })
        socket.terminate()
      })
      socket.on('error', error => {
        why ||= error.message
      })
      socket.on('close', (code, reason) => {
        clearTimeout(silence)
        listener.end({ code, reason: reason.toString() || why })
      })
      return {
        send: text => {
          if (socket.readyState === WebSocket.OPEN) socket.send(text)
        },
        close: () => socket.close(1000),
      }
    },
  }
}

function baseOf(url: string): string {
  const unix = /^unix:(?:\/\/)?(\/.+)$/.exec(url)
  if (unix) return `ws+unix:${unix[1]}:`
  if (!URL.canParse(url) || !/^(http|ws)s?:$/.test(new URL(url).protocol))
    throw fail('no_connection', { address: url, reason: 'this is no http, https or unix URL' })
  return new URL(url).origin.replace(/^http/, 'ws')
}

function queryOf(fields: AttachAsk & { session_id?: string; role?: string }): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(fields)) query.set(name, String(value))
  return query.size === 0 ? '' : `?${query}`
}
