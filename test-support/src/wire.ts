/** What one vendor's wire must be able to do for the model server. */
import type { PreparedTurn, SeenRequest, WireName } from './model-script.ts'

export type Refusal = { status: number; type: string; message: string }

/** One SSE block; `event` is null where the vendor sends bare `data:` lines. */
export type SseEvent = { event: string | null; data: string }

export type Wire = {
  name: WireName
  path: string
  /** The key as this wire carries it. */
  keyOf(headers: Readonly<Record<string, string>>): string | null
  /** Null when the vendor would take the request. */
  validate(body: unknown, headers: Readonly<Record<string, string>>): Refusal | null
  see(body: unknown): Omit<SeenRequest, 'index' | 'wire' | 'headers' | 'body'>
  events(turn: PreparedTurn, model: string, body: unknown): Iterable<SseEvent>
  errorBody(refusal: Refusal): string
  errorEvent(type: string, message: string): SseEvent
}

export function refuse(message: string, type = 'invalid_request_error', status = 400): Refusal {
  return { status, type, message }
}
export function sseText(event: SseEvent): string {
  return event.event === null ? `data: ${event.data}\n\n` : `event: ${event.event}\ndata: ${event.data}\n\n`
}
