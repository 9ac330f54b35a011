/** The wire of the Gemini API: https://ai.google.dev/api/generate-content#method:-models.streamgeneratecontent */
import { isRecord, type JsonRecord, loneSurrogateAt, records, text } from './json.ts'
import { chunks, newId, type PreparedTurn, type SeenMessage } from './model-script.ts'
import { type Refusal, refuse, type SseEvent, type Wire } from './wire.ts'

const PATH = /\/models\/([^/]+):streamGenerateContent$/

export const geminiWire: Wire = {
  name: 'gemini',
  serves: path => PATH.test(path),
  keyOf: headers => headers['x-goog-api-key'] ?? headers.authorization?.replace(/^Bearer /, '') ?? null,
  validate: validateGemini,
  see(body, path) {
    const request: JsonRecord = isRecord(body) ? body : {}
    const system = isRecord(request.systemInstruction) ? request.systemInstruction : {}
    return {
      model: decodeURIComponent(PATH.exec(path)?.[1] ?? ''),
      system: partsText(system.parts),
      messages: records(request.contents).map(seeContent),
      tools: records(request.tools).flatMap(tool =>
        records(tool.functionDeclarations).map(one => text(one.name)),
      ),
    }
  },
  events,
  errorBody: ({ status, type, message }) =>
    JSON.stringify({ error: { code: status, status: type, message } }),
  errorEvent: (type, message) => sse({ error: { code: 500, status: type, message } }),
  streams: true,
}

function partsText(parts: unknown): string {
  return records(parts)
    .map(part => (part.thought === true ? '' : text(part.text)))
    .filter(one => one !== '')
    .join('\n')
}

function seeContent(content: JsonRecord): SeenMessage {
  const parts = records(content.parts)
  return {
    role: content.role === 'model' ? 'assistant' : 'user',
    text: partsText(parts),
    calls: parts
      .map(part => part.functionCall)
      .filter(isRecord)
      .map(call => ({ id: text(call.id), name: text(call.name), input: call.args })),
    results: parts
      .map(part => part.functionResponse)
      .filter(isRecord)
      .map(answer => {
        const response = isRecord(answer.response) ? answer.response : {}
        return {
          callId: text(answer.id),
          text: text(response.output) + text(response.error),
          isError: response.error !== undefined,
        }
      }),
  }
}

/** This vendor's signatures are base64. */
function thoughtSignatureOf(said: string): string {
  return Buffer.from(`signed ${said.length} ${said.slice(0, 24)}`).toString('base64')
}

/** Says about a request what the vendor's endpoint would say, or null. */
export function validateGemini(body: unknown): Refusal | null {
  const bad = (message: string) => refuse(message, 'INVALID_ARGUMENT')
  if (!isRecord(body)) return bad('Invalid JSON payload received.')
  const surrogate = loneSurrogateAt(body)
  if (surrogate !== null) return bad(`Invalid JSON payload received: lone surrogate in ${surrogate}`)
  const contents = records(body.contents)
  if (contents.length === 0) return bad('GenerateContentRequest.contents: contents is not specified')
  let open: string[] = []
  for (const [i, content] of contents.entries()) {
    if (content.role !== 'user' && content.role !== 'model')
      return bad('Please use a valid role: user, model.')
    const parts = records(content.parts)
    if (parts.length === 0)
      return bad(`GenerateContentRequest.contents[${i}].parts: contents.parts must not be empty.`)
    for (const part of parts) {
      const { thoughtSignature } = part
      if (thoughtSignature === undefined) continue
      const said = text(part.text) + (isRecord(part.functionCall) ? text(part.functionCall.name) : '')
      if (thoughtSignature !== thoughtSignatureOf(said)) return bad('Corrupted thought signature.')
    }
    const answers = parts.map(part => part.functionResponse).filter(isRecord)
    const names = answers.map(answer => text(answer.name))
    if (open.length !== answers.length || names.some((name, at) => name !== open[at]))
      return bad(
        'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.',
      )
    open = parts
      .map(part => part.functionCall)
      .filter(isRecord)
      .map(call => text(call.name))
  }
  return null
}

const FINISH = { end_turn: 'STOP', tool_use: 'STOP', max_tokens: 'MAX_TOKENS', refusal: 'SAFETY' } as const

function sse(data: object): SseEvent {
  return { event: null, data: JSON.stringify(data) }
}

function* events(turn: PreparedTurn, model: string): Generator<SseEvent> {
  const responseId = `resp_${newId()}`
  const chunk = (parts: readonly object[], more: object = {}, usage: object = {}) =>
    sse({
      candidates: [{ content: { role: 'model', parts }, index: 0, ...more }],
      modelVersion: model,
      responseId,
      ...usage,
    })
  for (const piece of chunks(turn.thinking, turn.chunkChars)) yield chunk([{ thought: true, text: piece }])
  if (turn.thinking !== '')
    yield chunk([{ thought: true, text: '', thoughtSignature: thoughtSignatureOf(turn.thinking) }])
  for (const piece of chunks(turn.text, turn.chunkChars)) yield chunk([{ text: piece }])
  // What is no JSON can not be sent here: arguments are an object on this wire.
  for (const call of turn.calls)
    yield chunk([
      {
        functionCall: { id: call.id, name: call.name, args: jsonOrEmpty(call.arguments) },
        thoughtSignature: thoughtSignatureOf(call.name),
      },
    ])
  const { usage } = turn
  const prompt = usage.inputTokens + usage.cacheReadTokens
  yield chunk(
    [{ text: '' }],
    { finishReason: FINISH[turn.stop] },
    {
      usageMetadata: {
        promptTokenCount: prompt,
        cachedContentTokenCount: usage.cacheReadTokens,
        candidatesTokenCount: usage.outputTokens - usage.reasoningTokens,
        thoughtsTokenCount: usage.reasoningTokens,
        totalTokenCount: prompt + usage.outputTokens,
      },
    },
  )
}

export function jsonOrEmpty(source: string): unknown {
  try {
    return JSON.parse(source)
  } catch {
    return {}
  }
}
