/** What a wire has to do: read a request, write an answer as it comes or whole, and say an error in its own shape. */
import type { AssistantMessage, AssistantMessageEvent } from '@earendil-works/pi-ai'
import type { Json } from './json-reader.ts'
import type { LlmRequest } from './llm-request.ts'

export type WireName = 'openai-chat' | 'openai-responses' | 'anthropic' | 'pi' | 'chat-stream'

export type Wire = {
  name: WireName
  contentType: string
  /** Sent in silence, once the answer has begun. */
  heartbeat: string
  /** Can take back what it has given out, so another model may go on where one broke off. */
  canWithdraw: boolean
  /** Throws `bad_request`. */
  read(body: Json): LlmRequest
  writer(request: LlmRequest, about: AnswerAbout): AnswerWriter
  errorBody(error: WireError): unknown
}

export type AnswerAbout = { id: string; createdMs: number; body: Json }

export type AnswerWriter = {
  /** What is sent for an event; an empty text: nothing. */
  event(event: AssistantMessageEvent): string
  end(message: AssistantMessage, end: AnswerEnd): string
  /** Ends an answer that a client has seen a part of, so that it can not be taken for a whole one. */
  broken(error: WireError): string
  whole(message: AssistantMessage, end: AnswerEnd): unknown
  /** Of wires that have a word for it. */
  notice?(notice: Json): string
}

/** `refused`: the model or a filter declined, which is an answer. */
export type AnswerEnd = 'stop' | 'length' | 'tools' | 'refused'

export type WireError = {
  status: number
  /** Our own code, or the class of the failure. */
  code: string
  message: string
  /** When it may be tried again, where that is known. */
  retryAtMs: number | null
  retryable: boolean
}

export function endOf(message: AssistantMessage): AnswerEnd {
  if (message.stopReason === 'length') return 'length'
  return message.stopReason === 'toolUse' ? 'tools' : 'stop'
}

/** `provider/id` of the model that answers. */
export function modelName({ provider, model }: Pick<AssistantMessage, 'provider' | 'model'>): string {
  return `${provider}/${model}`
}

export function sse(data: unknown, event?: string): string {
  return `${event === undefined ? '' : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`
}

/** Text of one content part of an image, out of a `data:` URL; null for another URL. */
export function imageOfDataUrl(url: string): { type: 'image'; data: string; mimeType: string } | null {
  const found = /^data:(image\/[a-z0-9.+-]{1,64});base64,/i.exec(url)
  return found === null ? null : { type: 'image', mimeType: found[1] ?? '', data: url.slice(found[0].length) }
}

/** The arguments' text, sent whole where no piece of it came. */
export function wholeArguments(event: Extract<AssistantMessageEvent, { type: 'toolcall_end' }>): string {
  return JSON.stringify(event.toolCall.arguments)
}
