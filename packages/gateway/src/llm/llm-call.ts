/**
 * One request of a client to a model: through the router like everybody's, and back over the wire that it came on. What
 * goes wrong before the first word is a status; after it the answer is ended in a way that can not be taken for whole.
 */

import { hash } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import type { RequestOutcome, RouterNotice } from '@beige/models'
import type { Clock, Random } from '@beige/protocol'
import type { AssistantMessage, SimpleStreamOptions } from '@earendil-works/pi-ai'
import { normalizeContext } from '@earendil-works/pi-ai/utils/transcript'
import type { Redactor } from '../audit/redactor.ts'
import { answerJson } from '../http/answers.ts'
import type { Access } from './access.ts'
import type { Json } from './json-reader.ts'
import type { LlmRequest } from './llm-request.ts'
import { type AnswerEnd, endOf, type Wire, type WireError } from './wire.ts'
import { errorOfOutcome } from './wire-error.ts'
import { withExtras } from './wire-options.ts'

export type LlmCallParts = { clock: Clock; random: Random; redact: Redactor; log(text: string): void }

export type LlmCall = {
  wire: Wire
  body: Json
  request: LlmRequest
  access: Access
  /** Whose conversation it is; two callers never share one. */
  caller: string
  response: ServerResponse
}

const HEARTBEAT_MS = 10_000
/** Of an answer that a client does not read; then it is dropped, and the provider's request with it. */
const MAX_UNREAD_BYTES = 8_388_608

export async function answerLlm(parts: LlmCallParts, call: LlmCall): Promise<void> {
  const { wire, request, access, response } = call
  if (response.destroyed) return // nobody is there any more who would have to be told
  const id = Buffer.from(parts.random.bytes(12)).toString('hex')
  const about = { id, createdMs: parts.clock.now(), body: call.body }
  const writer = wire.writer(request, about)
  const gone = new AbortController()
  response.once('close', () => gone.abort(new DOMException('the client went away', 'AbortError')))

  let hasBegun = false
  let lastSentMs = parts.clock.monotonic()
  let waiting = ''
  /** What comes in one turn of the loop goes out in one write. */
  const flush = (): void => {
    if (waiting === '' || response.destroyed) return
    response.write(waiting)
    waiting = ''
    if (response.writableLength > MAX_UNREAD_BYTES) response.destroy()
  }
  const send = (text: string): void => {
    if (text === '' || response.destroyed) return
    if (!hasBegun) {
      hasBegun = true
      response.writeHead(200, {
        'Content-Type': wire.contentType,
        'Cache-Control': 'no-store',
        'X-Content-Type-Options': 'nosniff',
        'X-Accel-Buffering': 'no',
      })
    }
    lastSentMs = parts.clock.monotonic()
    if (waiting === '') setImmediate(flush)
    waiting += text
  }
  const endWith = (text: string): void => {
    send(text)
    response.end(waiting)
    waiting = ''
  }
  const beat = async (): Promise<void> => {
    while (!gone.signal.aborted) {
      await parts.clock.sleep(HEARTBEAT_MS, gone.signal)
      const isSilent = parts.clock.monotonic() - lastSentMs >= HEARTBEAT_MS
      if (isSilent && (hasBegun || wire.canWithdraw)) send(wire.heartbeat)
    }
  }

  let outcome: RequestOutcome | null = null
  let final: AssistantMessage | null = null
  const stream = access.router.stream({
    sessionId: sessionOf(call, id),
    model: access.model,
    context: normalizeContext({
      systemPrompt: request.systemPrompt,
      messages: request.messages,
      tools: request.tools,
    }),
    options: optionsOf(request, access, gone.signal),
    isPartialKept: request.isStreamed && !wire.canWithdraw,
    onNotice: notice => {
      const told = noticeOf(notice)
      if (told !== null && request.isStreamed) send(writer.notice?.(told) ?? '')
    },
    onOutcome: ended => {
      outcome = ended
    },
  })
  beat().catch(() => undefined) // ends with the response
  try {
    for await (const event of stream) {
      if (event.type === 'done') final = event.message
      else if (event.type === 'error') final = event.error
      else if (request.isStreamed) send(writer.event(event))
    }
  } finally {
    access.router.release(sessionOf(call, id))
  }
  if (final === null || response.destroyed) return
  finish(parts, call, { outcome, final, writer, hasBegun, endWith })
}

function finish(
  parts: LlmCallParts,
  { wire, request, response }: LlmCall,
  ended: {
    outcome: RequestOutcome | null
    final: AssistantMessage
    writer: ReturnType<Wire['writer']>
    hasBegun: boolean
    endWith(text: string): void
  },
): void {
  const { outcome, final, writer, endWith } = ended
  const end = endOfAnswer(outcome, final)
  if (end !== null) {
    // A refusal's words are its message; there may be no others.
    if (request.isStreamed) endWith(writer.end(final, end))
    else answerJson(response, 200, writer.whole(final, end))
    return
  }
  const error = wireErrorOf(outcome, final, parts.redact)
  if (ended.hasBegun) endWith(writer.broken(error))
  else answerWireError(response, wire, error, parts.clock.now())
}

/** Null where there is no answer. */
function endOfAnswer(outcome: RequestOutcome | null, final: AssistantMessage): AnswerEnd | null {
  if (outcome?.state === 'done') return endOf(final)
  return outcome?.state === 'failed' && outcome.class === 'refused' ? 'refused' : null
}

function wireErrorOf(outcome: RequestOutcome | null, final: AssistantMessage, redact: Redactor): WireError {
  if (outcome?.state === 'failed') return errorOfOutcome(outcome, redact)
  return {
    status: 502,
    code: 'transient',
    message: redact(final.errorMessage ?? 'the answer ended early'),
    retryAtMs: null,
    retryable: true,
  }
}

export function answerWireError(response: ServerResponse, wire: Wire, error: WireError, nowMs: number): void {
  const waitS = error.retryAtMs === null ? null : Math.max(1, Math.ceil((error.retryAtMs - nowMs) / 1000))
  answerJson(
    response,
    error.status,
    wire.errorBody(error),
    waitS === null ? {} : { 'Retry-After': String(waitS) },
  )
}

/**
 * A conversation that the client names keeps its place in a provider's cache; others are on their own. The name itself
 * may say who somebody is, and goes to providers, logs and the ledger: so not the name, but what is always made of it.
 */
function sessionOf({ caller, request }: LlmCall, id: string): string {
  const { conversation } = request
  return `llm:${caller}:${conversation === null ? id : hash('sha256', conversation, 'hex').slice(0, 24)}`
}

function optionsOf(request: LlmRequest, access: Access, signal: AbortSignal): SimpleStreamOptions {
  const { maxTokens, temperature, extras } = request
  const reasoning = request.reasoning ?? access.reasoning
  const choice = extras.toolChoice
  return {
    signal,
    ...(maxTokens === undefined ? {} : { maxTokens }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(reasoning === undefined || reasoning === 'off' ? {} : { reasoning }),
    ...(choice === 'auto' || choice === 'none' ? { toolChoice: choice } : {}),
    onPayload: (payload, model) => withExtras(extras, payload, model),
  }
}

function noticeOf(notice: RouterNotice): Json | null {
  switch (notice.type) {
    case 'waiting':
      return { type: 'waiting', provider: notice.provider, position: notice.position }
    case 'discarded':
      return { type: 'model_fallback', discard: true, reason: notice.reason }
    case 'model_switched': {
      const slash = notice.to.indexOf('/')
      return {
        type: 'model_fallback',
        provider: notice.to.slice(0, slash),
        modelId: notice.to.slice(slash + 1),
        discard: false,
        reason: notice.reason,
      }
    }
    default:
      return notice satisfies never
  }
}
