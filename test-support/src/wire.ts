/** What one vendor's wire must be able to do for the model server. */
import type { PreparedTurn, SeenRequest, WireName } from './model-script.ts'

export type Refusal = { status: number; type: string; message: string }

/** One SSE block; `event` is null where the vendor sends bare `data:` lines. */
export type SseEvent = { event: string | null; data: string }

export type Wire = {
  name: WireName
  serves(path: string): boolean
  /** The key as this wire carries it. */
  keyOf(headers: Readonly<Record<string, string>>): string | null
  /** Null when the vendor would take the request. */
  validate(body: unknown, headers: Readonly<Record<string, string>>): Refusal | null
  /** `path`: of the request, where some vendors put the model. */
  see(body: unknown, path: string): Omit<SeenRequest, 'index' | 'wire' | 'headers' | 'body'>
  events(turn: PreparedTurn, model: string, body: unknown): Iterable<SseEvent>
  errorBody(refusal: Refusal): string
  errorEvent(type: string, message: string): SseEvent
  /** Where the path says that the answer is a stream; else the body has `stream: true`. */
  streams?: true
  /** Where the vendor sends something else than SSE. */
  framed?: { contentType: string; frame(event: SseEvent): Uint8Array }
}

export function refuse(message: string, type = 'invalid_request_error', status = 400): Refusal {
  return { status, type, message }
}
export function sseText(event: SseEvent): string {
  return event.event === null ? `data: ${event.data}\n\n` : `event: ${event.event}\ndata: ${event.data}\n\n`
}
