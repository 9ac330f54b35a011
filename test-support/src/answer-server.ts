/**
 * Answers with exactly what a test hands it: any status, headers and bytes, and any way for a connection to end. For
 * what vendors and proxies really send when something is wrong; `startModelServer` is for a model that works.
 *
 * @example
 * await using server = await startAnswerServer(() => ({ status: 429, headers: { 'retry-after': '7' }, body: '{}' }))
 */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { prepareTurn, type Turn, type WireName } from './model-script.ts'
import type { RequestEnd } from './request-log.ts'
import { sseText, type Wire } from './wire.ts'
import { anthropicWire } from './wire-anthropic.ts'
import { bedrockWire } from './wire-bedrock.ts'
import { geminiWire } from './wire-gemini.ts'
import { openAiChatWire } from './wire-openai-chat.ts'
import { openAiResponsesWire } from './wire-openai-responses.ts'

export type CannedAnswer = {
  /** Default 200. */
  status?: number
  headers?: Readonly<Record<string, string>>
  /** Pieces are written one after the other; a function is called, and awaited, in its place. */
  body?: string | readonly (string | (() => unknown))[]
  /** `end` (default); `cut`: the connection is destroyed; `hold`: it stays open and nothing more comes. */
  ending?: 'end' | 'cut' | 'hold'
}

export type CannedRequest = {
  /** From 1. */
  index: number
  path: string
  headers: Readonly<Record<string, string | string[] | undefined>>
  body: string
  end: Promise<RequestEnd>
}

export type AnswerServer = AsyncDisposable & {
  url: string
  requests: readonly CannedRequest[]
  /** Requests whose connection is still open. */
  open(): number
  close(): Promise<void>
}

export async function startAnswerServer(
  answer: (request: CannedRequest) => CannedAnswer | Promise<CannedAnswer>,
): Promise<AnswerServer> {
  const requests: CannedRequest[] = []
  let open = 0
  let isClosing = false
  const server = createServer(async (request, response) => {
    open++
    const { promise: end, resolve: settle } = Promise.withResolvers<RequestEnd>()
    const gone = new AbortController()
    response.on('close', () => {
      open--
      gone.abort()
      settle(response.writableFinished ? 'answered' : isClosing ? 'server_closed' : 'client_closed')
    })
    const seen = {
      index: requests.length + 1,
      path: request.url ?? '',
      headers: request.headers,
      body: await bodyOf(request),
      end,
    }
    requests.push(seen)
    await write(response, await answer(seen), gone.signal, settle)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const close = async (): Promise<void> => {
    isClosing = true
    if (!server.listening) return
    const closed = once(server, 'close')
    server.close()
    server.closeAllConnections()
    await closed
  }
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    open: () => open,
    close,
    [Symbol.asyncDispose]: close,
  }
}

async function write(
  response: ServerResponse,
  answer: CannedAnswer,
  gone: AbortSignal,
  settle: (end: RequestEnd) => void,
): Promise<void> {
  response.writeHead(answer.status ?? 200, { ...answer.headers })
  response.flushHeaders()
  const pieces = typeof answer.body === 'string' ? [answer.body] : (answer.body ?? [])
  for (const piece of pieces) {
    if (gone.aborted) return
    if (typeof piece !== 'string') await piece()
    else if (!response.write(piece)) await once(response, 'drain', { signal: gone }).catch(() => undefined)
  }
  if (answer.ending === 'hold') return
  if (answer.ending === 'cut') {
    settle('server_closed')
    response.destroy()
  } else response.end()
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part)
  return Buffer.concat(parts).toString('utf8')
}

const WIRES: Readonly<Record<WireName, Wire>> = {
  anthropic: anthropicWire,
  'openai-chat': openAiChatWire,
  'openai-responses': openAiResponsesWire,
  gemini: geminiWire,
  bedrock: bedrockWire,
}

/** The SSE blocks with which a vendor streams a turn, the last of them the one that ends it. */
export function cannedStream(wire: WireName | 'google', turn: Turn, model = 'm-1'): string[] {
  if (wire === 'google') return googleStream(turn)
  const seen = {
    index: 0,
    wire,
    model,
    system: '',
    messages: [],
    tools: [],
    headers: {},
    body: { stream_options: { include_usage: true } },
  }
  return [...WIRES[wire].events(prepareTurn(turn, seen), model, seen.body)].map(sseText)
}

function googleStream(turn: Turn): string[] {
  const chunk = (text: string, more: object = {}) =>
    `data: ${JSON.stringify({ candidates: [{ content: { role: 'model', parts: [{ text }] }, ...more }] })}\r\n\r\n`
  const usage = {
    promptTokenCount: turn.usage?.inputTokens ?? 10,
    candidatesTokenCount: turn.usage?.outputTokens ?? 2,
  }
  const text = turn.text ?? ''
  const half = Math.ceil(text.length / 2)
  return [
    chunk(text.slice(0, half)),
    chunk(text.slice(half)),
    `data: ${JSON.stringify({
      candidates: [{ content: { role: 'model', parts: [{ text: '' }] }, finishReason: 'STOP' }],
      usageMetadata: { ...usage, totalTokenCount: usage.promptTokenCount + usage.candidatesTokenCount },
    })}\r\n\r\n`,
  ]
}
