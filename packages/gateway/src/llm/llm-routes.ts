/** The routes by which programs reach models: each wire under the path that its clients use. */
import { type Clock, messageOf, type Random } from '@beige/protocol'
import { estimateContextTokens } from '@earendil-works/pi-ai/utils/estimate'
import { normalizeContext } from '@earendil-works/pi-ai/utils/transcript'
import type { AuditLog } from '../audit/audit-log.ts'
import type { Redactor } from '../audit/redactor.ts'
import { fail } from '../errors.ts'
import type { Principal } from '../http/admission.ts'
import { answerJson } from '../http/answers.ts'
import type { Exchange, Route } from '../http/routes.ts'
import type { Access, AccessRules } from './access.ts'
import { type Json, record, text } from './json-reader.ts'
import { answerLlm } from './llm-call.ts'
import type { Wire } from './wire.ts'
import { anthropic } from './wires/anthropic.ts'
import { chatStream } from './wires/chat-stream.ts'
import { openAiChat } from './wires/openai-chat.ts'
import { openAiResponses } from './wires/openai-responses.ts'
import { pi } from './wires/pi.ts'

export type LlmRoutesParts = {
  access: AccessRules
  audit: AuditLog
  clock: Clock
  random: Random
  redact: Redactor
  refusesPrompts(): string | null
  log(text: string): void
}

const WIRE_OF_PATH: Readonly<Record<string, Wire>> = {
  '/v1/chat/completions': openAiChat,
  '/v1/responses': openAiResponses,
  '/v1/messages': anthropic,
  '/messages': pi,
  '/api/chat/stream': chatStream,
}
const MAX_BODY_BYTES = 33_554_432

/** By whose rules a path speaks, also where it refuses; null where it is none of these. */
export function wireOfPath(path: string): Wire | null {
  if (path === '/v1/messages/count_tokens') return anthropic
  if (path.startsWith('/v1/models')) return openAiChat
  return Object.hasOwn(WIRE_OF_PATH, path) ? (WIRE_OF_PATH[path] ?? null) : null
}

export function llmRoutes(parts: LlmRoutesParts): Route[] {
  const asked = Object.entries(WIRE_OF_PATH).map(
    ([path, wire]): Route => ({
      method: 'POST',
      path,
      scope: 'llm',
      maxBodyBytes: MAX_BODY_BYTES,
      handle: exchange => ask(parts, wire, exchange),
    }),
  )
  return [
    ...asked,
    {
      method: 'POST',
      path: '/v1/messages/count_tokens',
      scope: 'llm',
      maxBodyBytes: MAX_BODY_BYTES,
      handle: ({ body, principal, response }) => {
        const given = record(body, '')
        parts.access.to(principal, text(given.model, 'model'))
        const { systemPrompt, messages, tools } = anthropic.read(given)
        const { tokens } = estimateContextTokens(normalizeContext({ systemPrompt, messages, tools }))
        answerJson(response, 200, { input_tokens: tokens })
      },
    },
    {
      method: 'GET',
      path: '/v1/models',
      scope: 'llm',
      handle: ({ principal, response }) => {
        const data = parts.access.names(principal).map(shownModel)
        const ids = data.map(one => one.id)
        answerJson(response, 200, {
          object: 'list',
          data,
          has_more: false,
          first_id: ids[0] ?? null,
          last_id: ids.at(-1) ?? null,
        })
      },
    },
    {
      method: 'GET',
      path: '/v1/models/:id',
      scope: 'llm',
      handle: ({ principal, response, params }) => {
        const found = parts.access.names(principal).find(({ id }) => id === params.id)
        if (found === undefined) throw fail('model_denied', { model: params.id ?? '' })
        answerJson(response, 200, shownModel(found))
      },
    },
  ]
}

async function ask(parts: LlmRoutesParts, wire: Wire, exchange: Exchange): Promise<void> {
  if (parts.refusesPrompts() !== null) throw fail('unavailable')
  const { principal, response } = exchange
  const body = record(exchange.body, '')
  const access = await allowed(parts, wire, principal, body)
  const request = wire.read(body)
  await answerLlm(parts, {
    wire,
    body,
    request,
    access,
    caller: principal.tokenId ?? principal.name,
    response,
  })
}

/** A denial is a line of the audit, like every other decision. */
async function allowed(parts: LlmRoutesParts, wire: Wire, principal: Principal, body: Json): Promise<Access> {
  const named =
    wire === chatStream
      ? `${text(body.provider, 'provider')}/${text(body.modelId, 'modelId')}`
      : text(body.model, 'model')
  try {
    return wire === chatStream
      ? parts.access.forAgent(principal, text(body.agentName, 'agentName'), named)
      : parts.access.to(principal, named)
  } catch (error) {
    await parts.audit.append({
      phase: 'end',
      id: `llm-${Buffer.from(parts.random.bytes(8)).toString('hex')}`,
      agent: '',
      type: 'llm',
      model: parts.redact(named).slice(0, MAX_NAME_CHARS),
      decision: 'denied',
      by: 'policy',
      reason: parts.redact(messageOf(error)),
      ...(principal.key === null ? { caller: principal.name } : { key: principal.key.id }),
    })
    throw error
  }
}
const MAX_NAME_CHARS = 256

/** Of both vendors' lists at once: their clients read the fields that they know. */
function shownModel({ id, owner, label }: { id: string; owner: string; label: string }) {
  return {
    id,
    object: 'model',
    type: 'model',
    created: 0,
    created_at: '1970-01-01T00:00:00Z',
    owned_by: owner,
    display_name: label,
  }
}
